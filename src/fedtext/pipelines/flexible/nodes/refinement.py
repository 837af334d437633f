"""Phase 2: the weak silos' votes, the texts that are kept, and what a silo exchanged."""

import numpy as np
import pandas as pd

from fedtext.algorithms.flexible import budget, selection, unprotected
from fedtext.algorithms.flexible.cost import communication
from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import class_index, label_codes
from fedtext.generation.few_shot import refuse_none
from fedtext.params.flexible import Flexible
from fedtext.pipelines.flexible.nodes.held import by_silos
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.system.missing import nullable
from fedtext.voting.class_means import noised_class_means

Arrays = dict[str, np.ndarray]


def cast_votes(
    private_embeddings: Arrays,
    private_enrolment: Arrays,
    private_silos: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    flexible: Flexible,
) -> tuple[np.ndarray, Ledger]:
    """The release of phase 2: the weak silos' votes for the texts. No silo is weak, or no text there: no votes."""
    query = budget.votes_query(flexible, ledger.declaration, ledger.parties)
    if query is None or candidates.empty:
        return np.zeros(0), ledger
    samples = by_silos(private_embeddings, flexible.labels, private_enrolment, private_silos, ledger)
    voted = selection.candidates_of(candidate_embeddings, _codes(candidates, flexible))
    if not flexible.noise:
        weak = unprotected.of_silos(samples, query.parties or ())
        return unprotected.plain_votes(weak, voted, flexible), unprotected.told(budget.VOTES, ledger)
    return selection.noised_votes(query, samples, voted, flexible, ledger, private_noise_key)


def release_code_means(
    private_embeddings: Arrays,
    private_enrolment: Arrays,
    private_silos: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    flexible: Flexible,
) -> tuple[np.ndarray, Ledger]:
    """The release of `selection: herd`: a sum of the weak silos' embeddings a code."""
    dim = private_embeddings["features"].shape[1]
    query = budget.means_query(flexible, ledger.declaration, ledger.parties, embedding_dim=dim)
    if query is None:
        return np.zeros(0), ledger
    samples = by_silos(private_embeddings, flexible.labels, private_enrolment, private_silos, ledger)
    if not flexible.noise:
        weak = unprotected.of_silos(samples, query.parties or ())
        return unprotected.plain_means(weak, flexible), unprotected.told(budget.MEANS, ledger)
    return noised_class_means(query, samples, flexible.labels, ledger, private_noise_key)


def keep_by_votes(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, scores: np.ndarray, flexible: Flexible
) -> tuple[pd.DataFrame, np.ndarray]:
    """The synthetic data set and its embeddings: texts drawn without replacement in proportion to their votes."""
    kept = selection.kept_by_votes(scores, _codes(candidates, flexible), flexible)
    return _synthetic(candidates, kept, flexible.synthetic_texts), candidate_embeddings[kept]


def keep_by_means(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, scores: np.ndarray, flexible: Flexible
) -> tuple[pd.DataFrame, np.ndarray]:
    """The same by herding to the released means."""
    kept = selection.kept_by_means(scores, candidate_embeddings, _codes(candidates, flexible), flexible)
    return _synthetic(candidates, kept, flexible.synthetic_texts), candidate_embeddings[kept]


def keep_at_random(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, flexible: Flexible
) -> tuple[pd.DataFrame, np.ndarray]:
    """The same of as many texts, chosen by no vote; all of them where no more were written than are kept."""
    return keep_by_votes(candidates, candidate_embeddings, np.zeros(0), flexible)


def count_exchanged(
    start: np.ndarray, ledger: Ledger, candidate_embeddings: np.ndarray, flexible: Flexible
) -> Exchange:
    """What a silo exchanges in the whole run, a mean over silos."""
    return communication(flexible, ledger.parties, dim=start.size, embedding_dim=candidate_embeddings.shape[1])


def _codes(candidates: pd.DataFrame, flexible: Flexible) -> np.ndarray:
    """Position of each text's code among the declared ones."""
    return class_index(label_codes(nullable(candidates["label"])), flexible.labels)


def _synthetic(candidates: pd.DataFrame, kept: np.ndarray, wanted: int) -> pd.DataFrame:
    refuse_none(len(kept), wanted)
    return candidates.iloc[kept].assign(round=1)[list(SYNTHETIC_COLUMNS)].reset_index(drop=True)
