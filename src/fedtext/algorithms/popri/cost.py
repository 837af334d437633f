"""Communication of POPri per client (the row of Table 2)."""

from __future__ import annotations

from fedtext.algorithms.popri.scoring import scoring_of
from fedtext.federation.communication import Exchange
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.plan import expected_exchanges


def communication(popri: Popri, privacy: Privacy, population: int, *, embedding_dim: int) -> Exchange:
    """Compute what one client receives and sends under `popri.scoring`.

    A scoring with ballots in every round sends all K x J candidates' embeddings down and one score each up. A single
    release sends nothing down, and the mean features up, once.
    """
    scoring = scoring_of(popri)
    down, up = scoring.download_floats(popri, embedding_dim), scoring.upload_floats(popri, embedding_dim)
    asked = expected_exchanges(privacy, population, popri.releases)
    return Exchange(variant=popri.scoring, down_floats=down, up_floats=up, exchanges=asked)
