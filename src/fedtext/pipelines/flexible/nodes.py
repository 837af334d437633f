"""The nodes of flexible participation, in the order of a run.

- Before any release: the silo of every unit, the ledger of all silos, and the weights to start from.
- The profile of all silos, and the texts that are written in proportion to it.
- Phase 1: texts behind their codes, the strong silos' training, and the trained adapter.
- Phase 2: the weak silos' votes, the texts that are kept, their figure, and what a silo exchanges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.algorithms.flexible import plan, profile, selection, training, unprotected
from fedtext.algorithms.flexible.cost import communication
from fedtext.corpora.records import SILO_COLUMN, SYNTHETIC_COLUMNS
from fedtext.embedding.nonempty import encode_nonempty
from fedtext.federation.communication import Exchange
from fedtext.federation.federation import Simulated
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples, class_index, label_codes
from fedtext.federation.silos import STRONG, of_kind, parties_of, silo_name, silo_partition
from fedtext.federation.units import unit_codes
from fedtext.generation.few_shot import check_text_count
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking, Corpus, Partition
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.pipelines.clients.nodes import units_of
from fedtext.privacy.ledger import Ledger, Plan
from fedtext.privacy.noise import NoiseKey
from fedtext.reporting.figures_flexible import vote_distribution
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError
from fedtext.system.missing import nullable
from fedtext.training.lora import TrainedAdapter, TrainedWeights, adapter_weights, trainable_model, trained_of_weights
from fedtext.training.unit_gradients import UnitGradients
from fedtext.voting.class_means import noised_class_means


def by_silos(
    arrays: Mapping[str, np.ndarray],
    codes: Sequence[str],
    enrolment: Mapping[str, np.ndarray],
    silos: pd.DataFrame,
    ledger: Ledger,
) -> PrivateSamples:
    """Return the samples of `arrays` (`features`, `client`, `record`, `label`), each held by the silo of its client."""
    samples = PrivateSamples.protected_by(ledger, arrays, enrolment, codes)
    client, silo = unit_codes(silos["client_id"].tolist()), unit_codes(silos["silo"].tolist())
    order = np.argsort(client)
    place = np.searchsorted(client[order], arrays["client"])
    return replace(samples, holder=silo[order[place]])


Units = dict[str, int]


def assign_silos(private_clients: pd.DataFrame, silos: Silos, privacy: Privacy) -> pd.DataFrame:
    """Assign every client to a silo: `client_id`, `silo`.

    A client in several silos that is one unit gets the first by name.

    Raises:
        ValueError: Records are the units, and a client has some in several silos: one would pay another's privacy
            cost.
    """
    by_column = SILO_COLUMN in private_clients and silos.groups != 1  # one silo of all has no use for a column
    if by_column and privacy.unit == "record" and _spans_silos(private_clients):
        raise InputError(
            "privacy.unit is record, and the silo column puts records of one client in several silos: give a client "
            "another id in each silo (corpus.client_column), or set privacy.unit=client",
            code="records-of-client-in-silos",
            parameter="privacy.unit",
            value="record",
        )
    ids = private_clients["client_id"].drop_duplicates().tolist()
    if by_column:  # not by the order of its rows, which another file may have otherwise
        held = private_clients.groupby("client_id")[SILO_COLUMN].min().loc[ids].tolist()
    else:
        held = [silo_name(one, silos.groups) for one in ids]
    return pd.DataFrame({"client_id": ids, "silo": held})


def _spans_silos(private_clients: pd.DataFrame) -> bool:
    """Return whether a client has records in more than one silo."""
    places = private_clients[["client_id", SILO_COLUMN]].drop_duplicates()
    return bool(places["client_id"].duplicated().any())


def count_silos(private_silos: pd.DataFrame, private_train: pd.DataFrame, privacy: Privacy, silos: Silos) -> Units:
    """Count the training units in each silo of a public corpus, if they are not declared; 0 for one that only tests."""
    if silos.units:
        return dict(silos.units)
    units = private_train if privacy.unit == "record" else private_train.drop_duplicates("client_id")
    silo = units["client_id"].map(private_silos.set_index("client_id")["silo"])
    counted = Counter(silo.tolist())
    return {name: counted[name] for name in sorted(set(private_silos["silo"]))}


def declare_silos(silos: Silos) -> Units:
    """Return the declared number of training units in each silo; nothing private is read."""
    if not silos.units:
        raise InputError(
            "silos.units is empty, and the corpus is not a public one that may be counted: declare how many "
            "training units each silo holds, as silos.units: {north: 2000, south: 1500}",
            code="units-not-declared",
            parameter="silos.units",
        )
    return dict(silos.units)


def start_weights(generator: TrainableGenerator, flexible: Flexible) -> np.ndarray:
    """Return the untrained adapter, or all weights, as a vector."""
    return adapter_weights(trainable_model(generator, flexible.lora, seed=derived_seed(flexible.seed, "adapter")))


def open_flexible_ledger(
    units: Units,
    start: np.ndarray,
    encoder: Encoder,
    flexible: Flexible,
    silos: Silos,
    privacy: Privacy,
    corpus: Corpus,
    partition: Partition,
) -> Ledger:
    """Open an empty ledger of all silos, after checking that the planned releases fit the budget of each."""
    parties = parties_of(units, silos, privacy.epsilon)
    ledger = plan.planned_ledger(parties, flexible, privacy, dim=start.size, embedding_dim=encoder.dim)
    return ledger.model_copy(update={"partition_rule": silo_partition(corpus, partition, silos)})


def begin_ledger(ledger: Ledger) -> tuple[Ledger, Plan]:
    """Return the opened ledger restricted to the releases before texts are chosen, and the plan.

    Runs that choose in different ways then share the training and the profile.
    """
    first = (plan.DP_SGD, plan.PROFILE)
    begun = ledger.planned and tuple(one for one in ledger.planned if one.name in first)
    signals = tuple(one for one in ledger.signals if one.release in first)
    restricted = ledger.model_copy(update={"planned": begun, "signals": signals})
    return restricted, Plan(releases=ledger.planned, signals=ledger.signals)


def go_on_with_ledger(ledger: Ledger, planned: Plan) -> Ledger:
    """Return the ledger so far with all releases that the run was opened for."""
    return ledger.model_copy(update={"planned": planned.releases, "signals": planned.signals})


def count_codes(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_silos: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    flexible: Flexible,
) -> tuple[np.ndarray, Ledger]:
    """Release the profile: the noisy count of records of each code in all silos together."""
    samples = by_silos(private_embeddings, flexible.labels, private_enrolment, private_silos, ledger)
    if not flexible.noise:
        return unprotected.plain_profile(samples, flexible), unprotected.record_unprotected_read(plan.PROFILE, ledger)
    query = plan.profile_query(flexible, ledger.declaration)
    counted, charged = profile.noised_profile(query, Simulated(samples, private_noise_key), flexible, ledger)
    return counted, charged


def share_out_texts(counted: np.ndarray, flexible: Flexible) -> np.ndarray:
    """Allocate the number of texts to each code, in proportion to its noisy count.

    It is a node of its own, since it alone depends on how texts are chosen: choices of as many texts share the written
    ones.
    """
    return np.array(profile.text_counts(counted, flexible), dtype=np.int64)


def write_by_profile(
    generator: TrainableGenerator,
    adapter: Path,
    trained: np.ndarray,
    counts: np.ndarray,
    flexible: Flexible,
    chunking: Chunking,
) -> pd.DataFrame:
    """Write texts of the trained generator, the allocated number for each code."""
    tuned = generator.with_adapter(adapter)
    return profile.written_texts(tuned, counts.tolist(), flexible, chunking.length, tuned=trained.size > 0)


def embed_candidates(candidates: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed the written texts as unit vectors."""
    return encode_nonempty(encoder, candidates["text"].tolist(), label="written texts")


Arrays = dict[str, np.ndarray]


def tokenise_behind_codes(
    private_train: pd.DataFrame, generator: TrainableGenerator, flexible: Flexible, chunking: Chunking
) -> Arrays:
    """Tokenise the silos' samples, each behind its code: arrays `features` (rows), `client`, `record`, `label`."""
    own = private_train
    rows, text = training.rows_behind_codes(
        generator, flexible, chunking.length, own["text"].tolist(), nullable(own["label"])
    )
    return {
        "features": rows,
        **{name: codes[text] for name, codes in units_of(own).items()},
        "label": np.zeros(len(rows), dtype=np.int64),
    }


def train_strong_silos(
    private_code_rows: Arrays,
    private_enrolment: Arrays,
    private_silos: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    generator: TrainableGenerator,
    start: np.ndarray,
    flexible: Flexible,
) -> tuple[np.ndarray, Ledger]:
    """Release the common weights of phase 1, charged to each strong silo; no weights if no silo is strong."""
    queries = plan.dp_sgd_queries(flexible, ledger.declaration, ledger.parties, dim=start.size)
    silos = [party.name for party in of_kind(ledger.parties, STRONG)]
    if not silos:
        return np.zeros(0, dtype=np.float32), ledger
    samples = by_silos(private_code_rows, (), private_enrolment, private_silos, ledger)
    model = trainable_model(generator, flexible.lora, seed=derived_seed(flexible.seed, "adapter"))
    gradients = UnitGradients(model, flexible.training.units_at_once, flexible.training.gradients)
    gradients_at = partial(training.unit_gradients, gradients)
    if not flexible.noise:
        recorded = unprotected.record_unprotected_read(plan.DP_SGD, ledger)
        return unprotected.plain_weights(silos, gradients_at, start, samples, flexible), recorded
    return training.trained_weights(queries, gradients_at, start, samples, flexible.training, ledger, private_noise_key)


def write_adapter(
    generator: TrainableGenerator, start: np.ndarray, trained: np.ndarray, flexible: Flexible
) -> TrainedAdapter | TrainedWeights:
    """Write the trained adapter as a generator reads it; the untrained one if no silo is strong."""
    seed = derived_seed(flexible.seed, "adapter")
    return trained_of_weights(generator, flexible.lora, trained if trained.size else start, seed=seed)


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
    """Release the weak silos' votes for the texts in phase 2; no votes if no silo is weak, or there is no text."""
    query = plan.votes_query(flexible, ledger.declaration, ledger.parties)
    if query is None or candidates.empty:
        return np.zeros(0), ledger
    samples = by_silos(private_embeddings, flexible.labels, private_enrolment, private_silos, ledger)
    voted = selection.candidates_of(candidate_embeddings, _codes(candidates, flexible))
    if not flexible.noise:
        weak = unprotected.of_silos(samples, query.parties or ())
        return unprotected.plain_votes(weak, voted, flexible), unprotected.record_unprotected_read(plan.VOTES, ledger)
    return selection.noised_votes(query, Simulated(samples, private_noise_key), voted, flexible, ledger)


def release_code_means(
    private_embeddings: Arrays,
    private_enrolment: Arrays,
    private_silos: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    flexible: Flexible,
) -> tuple[np.ndarray, Ledger]:
    """Release a sum of the weak silos' embeddings for each code (`selection: herd`)."""
    dim = private_embeddings["features"].shape[1]
    query = plan.means_query(flexible, ledger.declaration, ledger.parties, embedding_dim=dim)
    if query is None:
        return np.zeros(0), ledger
    samples = by_silos(private_embeddings, flexible.labels, private_enrolment, private_silos, ledger)
    if not flexible.noise:
        weak = unprotected.of_silos(samples, query.parties or ())
        return unprotected.plain_means(weak, flexible), unprotected.record_unprotected_read(plan.MEANS, ledger)
    return noised_class_means(query, Simulated(samples, private_noise_key), flexible.labels, ledger)


def keep_by_votes(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, scores: np.ndarray, flexible: Flexible
) -> tuple[pd.DataFrame, np.ndarray]:
    """Sample texts without replacement in proportion to their votes: the synthetic data set and its embeddings."""
    kept = selection.kept_by_votes(scores, _codes(candidates, flexible), flexible)
    return _synthetic(candidates, kept, flexible.synthetic_texts), candidate_embeddings[kept]


def keep_by_means(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, scores: np.ndarray, flexible: Flexible
) -> tuple[pd.DataFrame, np.ndarray]:
    """Select texts by kernel herding to the released means: the synthetic data set and its embeddings."""
    kept = selection.kept_by_means(scores, candidate_embeddings, _codes(candidates, flexible), flexible)
    return _synthetic(candidates, kept, flexible.synthetic_texts), candidate_embeddings[kept]


def keep_at_random(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, flexible: Flexible
) -> tuple[pd.DataFrame, np.ndarray]:
    """Sample as many texts without votes; all of them if no more were written than are kept."""
    return keep_by_votes(candidates, candidate_embeddings, np.zeros(0), flexible)


def count_exchanged(
    start: np.ndarray, ledger: Ledger, candidate_embeddings: np.ndarray, flexible: Flexible
) -> Exchange:
    """Count what a silo exchanges in the whole run, a mean over silos."""
    return communication(flexible, ledger.parties, dim=start.size, embedding_dim=candidate_embeddings.shape[1])


def draw_votes(candidates: pd.DataFrame, scores: np.ndarray, ledger: Ledger, flexible: Flexible) -> Figure:
    """Draw how the released votes spread over the texts of a code."""
    stddev = summed_stddev(ledger) if flexible.noise and len(scores) else 0.0
    return vote_distribution(candidates, scores, stddev)


def draw_no_votes(candidates: pd.DataFrame) -> Figure:
    """Say that there are none, where texts are chosen in another way."""
    return vote_distribution(candidates, np.zeros(0), 0.0)


def _codes(candidates: pd.DataFrame, flexible: Flexible) -> np.ndarray:
    """Return the position of each text's code among the declared ones."""
    return class_index(label_codes(nullable(candidates["label"])), flexible.labels)


def _synthetic(candidates: pd.DataFrame, kept: np.ndarray, wanted: int) -> pd.DataFrame:
    check_text_count(len(kept), wanted)
    return candidates.iloc[kept].assign(round=1)[list(SYNTHETIC_COLUMNS)].reset_index(drop=True)
