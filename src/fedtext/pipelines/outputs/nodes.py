"""The common end of every algorithm's run: ledger, privacy report, row of costs, embeddings of the rounds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.embedding.nonempty import encode_nonempty, nonempty_by_round
from fedtext.federation.communication import Cost, Exchange
from fedtext.generation.best_of import most_plausible
from fedtext.generation.few_shot import check_text_count, first_nonempty
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.corpus import Corpus
from fedtext.params.described import Described
from fedtext.params.for_reading import ForReading
from fedtext.params.privacy import Privacy
from fedtext.privacy.allowance import Allowance
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.report import PAIR, SPAN, final_report
from fedtext.privacy.spending import Spent


def hand_over_ledger(ledger: Ledger) -> Ledger:
    """Return the ledger after the last release, under a name that does not depend on how many rounds there are."""
    return ledger


def embed_final_texts(final_texts: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed the final texts as unit vectors; zeros for an empty text."""
    return encode_nonempty(encoder, final_texts["text"].tolist(), label="final texts")


def keep_final_texts(
    final_texts: pd.DataFrame, final_embeddings: np.ndarray, synthetic_texts: int
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the synthetic data set, the first so many texts that are not empty with their round, and its embeddings.

    If there are fewer, all are kept, and a warning gives their number.

    Raises:
        ValueError: All are empty.
    """
    kept = first_nonempty(final_texts, synthetic_texts)
    check_text_count(len(kept), synthetic_texts)
    return final_texts.iloc[kept][list(SYNTHETIC_COLUMNS)].reset_index(drop=True), final_embeddings[kept]


def keep_written_texts(written: pd.DataFrame, encoder: Encoder) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the synthetic data set, all texts with their round and generator, and its embeddings."""
    table = written[[*SYNTHETIC_COLUMNS, "generator"]]
    return table, encode_nonempty(encoder, table["text"].tolist(), label="texts of the generators")


def choose_for_reading(
    written: pd.DataFrame, describer: Generator, encoder: Encoder, described: Described, for_reading: ForReading
) -> pd.DataFrame:
    """Choose the texts that a person should read first, by the public model that was told what they are."""
    return most_plausible(describer, encoder, written, described.texts.sampler, for_reading)


def count_nothing_exchanged(written: pd.DataFrame) -> Exchange:
    """Count what one client exchanges: nothing."""
    return Exchange(down_floats=0, up_floats=0, exchanges=0)


def collect_round_embeddings(*candidate_embeddings: np.ndarray) -> dict[str, np.ndarray]:
    """Collect each round's embeddings, keyed `round_01`, ..., for the evaluation; no key for a round without texts."""
    return nonempty_by_round(candidate_embeddings)


def report_writer(
    assumption: str, *, of_pairs: bool = False
) -> Callable[[Ledger, tuple[Spent, ...], Corpus, Privacy], tuple[dict[str, Any], str]]:
    """Create the node that writes the privacy report; `assumption` is a sentence that it adds, or empty.

    `of_pairs`: a record is a pair.
    """

    def write_privacy_report(
        ledger: Ledger, release_history: tuple[Spent, ...], corpus: Corpus, privacy: Privacy
    ) -> tuple[dict[str, Any], str]:
        """Write the run's privacy report: `privacy_report.json` and `privacy_report.md`."""
        further, record = [assumption] if assumption else [], PAIR if of_pairs else SPAN
        return final_report(ledger, release_history, further, record, Allowance.of(corpus, privacy))

    return write_privacy_report


def cost_writer(title: str) -> Callable[[Exchange], Cost]:
    """Create the node that writes the row of the algorithm with this title."""

    def write_cost(exchange: Exchange) -> Cost:
        """Write this run's row of Table 2."""
        return Cost.of(title, exchange)

    return write_cost
