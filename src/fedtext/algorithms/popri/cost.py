"""What POPri asks a client to exchange (the row of Table 2)."""

from __future__ import annotations

from fedtext.federation.communication import Exchange
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.plan import expected_exchanges


def communication(popri: Popri, privacy: Privacy, population: int, *, embedding_dim: int) -> Exchange:
    """What one client exchanges under `popri.scoring`.

    A scoring that ballots every round sends all K x J candidates' embeddings down and one score each up. A single
    release sends nothing down, for encoder and feature seed are public and ahead of the run, and the mean features up,
    once; with classes, a block and one count coordinate for each.
    """
    if popri.single_release:
        features = popri.random_features if popri.scoring == "witness_rff" else embedding_dim
        classes = len(popri.classes)
        down, up = 0, classes * (features + 1) if popri.labels else features
    else:
        candidates = popri.prompts * popri.responses
        down, up = candidates * embedding_dim, candidates
    asked = expected_exchanges(privacy, population, popri.releases)
    return Exchange(variant=popri.scoring, down_floats=down, up_floats=up, exchanges=asked)
