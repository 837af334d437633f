"""Communication of Private Evolution per client (the row of Table 2)."""

from __future__ import annotations

from fedtext.federation.communication import Exchange
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.privacy.plan import expected_exchanges


def communication(evolution: Pe, privacy: Privacy, population: int, *, embedding_dim: int) -> Exchange:
    """Compute a client's traffic: in each round the embeddings that are voted on down, one vote count for each up."""
    return Exchange(
        variant=evolution.form,
        down_floats=evolution.population * embedding_dim,
        up_floats=evolution.population,
        exchanges=expected_exchanges(privacy, population, evolution.rounds),
    )
