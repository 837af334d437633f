"""Communication of DPPrefSyn per unit."""

from __future__ import annotations

from fedtext.algorithms.dpprefsyn.plan import Plan
from fedtext.federation.communication import Exchange
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.params.privacy import Privacy
from fedtext.privacy.plan import expected_exchanges


def communication(params: Dpprefsyn, privacy: Privacy, population: int, *, embedding_dim: int) -> Exchange:
    """Compute a unit's traffic in a run; of Poisson-sampled steps, the expected number in which it is sampled.

    It receives the directions and, for each further release, centres or heads as wide as its contribution.
    """
    kinds = Plan.of(params, privacy, population, embedding_dim).kinds
    asked = {
        name: kind.count * (1.0 if kind.batch is None else kind.batch / population) for name, kind in kinds.items()
    }
    up = sum(kind.dim * asked[name] for name, kind in kinds.items())
    down = 0.0 if params.projection == "none" or not kinds else embedding_dim * params.dimensions
    if params.trains_heads is False or params.scorer == "bradley_terry":
        down += up
    return Exchange(
        variant=params.form,
        down_floats=round(down),
        up_floats=round(up),
        exchanges=expected_exchanges(privacy, population, 1) if kinds else 0.0,
    )
