"""What Private Evolution asks a client to exchange (the row of Table 2)."""

from __future__ import annotations

from fedtext.federation.communication import Cost
from fedtext.params.private_evolution import PrivateEvolution


def communication(evolution: PrivateEvolution, *, embedding_dim: int) -> Cost:
    """Every round: the embeddings of the candidates (or of what they may become) down, one vote count each up."""
    return Cost(
        method=f"Private Evolution, {evolution.form} (this run)",
        down_floats=evolution.population * embedding_dim,
        up_floats=evolution.population,
        exchanges=evolution.rounds,
    )
