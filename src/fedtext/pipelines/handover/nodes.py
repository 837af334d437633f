"""What every algorithm's run ends with: ledger, privacy report, row of costs, embeddings of the rounds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fedtext.embedding.blanks import written_by_round
from fedtext.federation.communication import Cost, Exchange
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.report import final_report
from fedtext.privacy.spending import Spent


def hand_over_ledger(ledger: Ledger) -> Ledger:
    """The ledger after the last release, under a name that does not depend on how many rounds there are."""
    return ledger


def collect_round_embeddings(*candidate_embeddings: np.ndarray) -> dict[str, np.ndarray]:
    """Embeddings of each round's texts, keyed `round_01`, ..., for the evaluation; no key for a round without any."""
    return written_by_round(candidate_embeddings)


def report_writer(assumption: str) -> Callable[[Ledger, tuple[Spent, ...]], tuple[dict[str, Any], str]]:
    """The node that writes the privacy report; `assumption` is a sentence that it adds, or empty."""

    def write_privacy_report(ledger: Ledger, release_history: tuple[Spent, ...]) -> tuple[dict[str, Any], str]:
        """The last word of the run on privacy: `privacy_report.json` and `privacy_report.md`."""
        return final_report(ledger, release_history, [assumption] if assumption else [])

    return write_privacy_report


def cost_writer(title: str) -> Callable[[Exchange], Cost]:
    """The node that writes the row of the algorithm with this title."""

    def write_cost(exchange: Exchange) -> Cost:
        """This run's row of Table 2."""
        return Cost.of(title, exchange)

    return write_cost
