"""What flexible participation asks a silo to exchange."""

from __future__ import annotations

from fedtext.federation.communication import Exchange
from fedtext.federation.silos import STRONG, WEAK, of_kind
from fedtext.params.flexible import Flexible
from fedtext.privacy.parties import Party


def communication(params: Flexible, parties: tuple[Party, ...], *, dim: int, embedding_dim: int) -> Exchange:
    """What goes down to a silo and up from it in the whole run, a mean over all silos.

    A strong one exchanges the weights in every round, every one sends its counts of codes, a weak one is given the
    texts' embeddings and sends a vote for each text, or a sum of embeddings a code.
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
