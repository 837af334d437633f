"""Communication of WASP per unit."""

from __future__ import annotations

from fedtext.federation.communication import Exchange
from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp
from fedtext.privacy.plan import expected_exchanges


def communication(wasp: Wasp, privacy: Privacy, population: int, *, embedding_dim: int) -> Exchange:
    """Compute a unit's traffic per vote, averaged over the votes: new texts' embeddings down, votes on all texts up.

    With `single_release` nothing goes down and one sum per class goes up, once; with `random` nothing is exchanged.
    """
    votes = wasp.rounds - 1
    if wasp.votes == "random":
        return Exchange(variant=wasp.votes, down_floats=0, up_floats=0, exchanges=0.0)
    if wasp.votes == "single_release":
        up, down, votes = len(wasp.classes) * embedding_dim, 0, 1
    else:
        down = wasp.texts_until(votes) * embedding_dim // votes
        up = len(wasp.parts) * sum(wasp.texts_until(t) for t in range(1, votes + 1)) // votes
    exchanges = expected_exchanges(privacy, population, votes)
    return Exchange(variant=wasp.votes, down_floats=down, up_floats=up, exchanges=exchanges)
