"""Communication of flexible participation per silo."""

from __future__ import annotations

from fedtext.federation.communication import Exchange
from fedtext.federation.silos import STRONG, WEAK, of_kind
from fedtext.params.flexible import Flexible
from fedtext.privacy.parties import Party


def communication(params: Flexible, parties: tuple[Party, ...], *, dim: int, embedding_dim: int) -> Exchange:
    """Compute a silo's traffic in the whole run, averaged over all silos.

    A strong silo exchanges the weights in every round, and every silo sends its counts of codes. A weak silo receives
    the texts' embeddings and sends a vote for each text, or a sum of embeddings per code.
    """
    codes, texts = len(params.classes), params.candidates
    trained = len(of_kind(parties, STRONG)) * params.training.rounds * dim
    asked = {"votes": (texts * embedding_dim, texts), "herd": (0, codes * embedding_dim)}
    down, up = asked.get(params.selection, (0, 0))
    weak, silos = len(of_kind(parties, WEAK)), len(parties)
    return Exchange(
        variant=params.selection,
        down_floats=(trained + weak * down) // silos,
        up_floats=(trained + weak * up) // silos + codes,
        exchanges=1.0,
    )
