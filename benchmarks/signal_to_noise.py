"""Noise against signal, and what ε lets an attacker gain: the tables of docs/choosing_epsilon.md.

    python -m benchmarks.signal_to_noise

All of it is computed from public values by the accountant; no text is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from fedtext.algorithms.dp_fedavg import FederatedAveraging
from fedtext.algorithms.dp_ftrl import FollowTheRegularizedLeader, chosen_factorisation
from fedtext.algorithms.pe import plan as pe
from fedtext.algorithms.popri import plan as popri
from fedtext.params.federated import DpFedavg, DpFtrl
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import SampledGaussian
from fedtext.privacy.dominating_pairs import gaussian_shift
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.signal_to_noise import loudest_noise
from fedtext.privacy.trade_off import FALSE_ALARMS, TradeOff, percent
from fedtext.privacy.wording import table
from fedtext.system.errors import InputError
from tests.parameters import conf_base

CLIENTS = (68, 200, 500, 1_000, 2_000, 5_000, 20_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-5
EMBEDDING, WEIGHTS = 384, 1_300_000  # numbers of an embedding, and weights of the on-device model
AUDITS = Path(__file__).parents[1] / "docs" / "audits.md"


def ratio(ledger: Ledger) -> float:
    """Return noise over signal of the releases with the most noise."""
    worst = loudest_noise(ledger)
    assert worst is not None
    return worst.ratio


def by_clients() -> list[str]:
    """Return the table of the default release: clients by ε."""
    rows = [[f"{n:,}", *(_shown(_popri(n, epsilon, "secure")) for epsilon in EPSILONS)] for n in CLIENTS]
    return table(["clients", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)], rows)


def by_trust(clients: int = 5_000, epsilon: float = 1.0) -> list[str]:
    """Return the table of algorithms by who adds the noise."""
    made: dict[str, Callable[[Privacy], Ledger]] = {
        "POPri, one release": lambda p: popri.planned_ledger(clients, conf_base(Popri), p, embedding_dim=EMBEDDING),
        "Private Evolution": lambda p: pe.planned_ledger(clients, conf_base(Pe), p),
        "DP-FTRL": lambda p: _dp_ftrl(clients, p),
        "DP-FedAvg": lambda p: FederatedAveraging(conf_base(DpFedavg)).planned_ledger(clients, p, dim=WEIGHTS),
    }
    rows = [
        [name, *(_shown(_under(plan, trust, epsilon)) for trust in ("secure", "local"))] for name, plan in made.items()
    ]
    return table(["algorithm", "`secure`", "`local`"], rows)


def gains() -> list[str]:
    """Return the table of what ε lets an attacker gain."""
    rows = []
    for epsilon in EPSILONS:
        bound = TradeOff.of([[SampledGaussian("full", 1.0, gaussian_shift(epsilon, DELTA))]], adjacency="zero_out")
        found = float(bound.found(np.array([FALSE_ALARMS]))[0])
        rows.append([f"{epsilon:g}", percent(bound.right_at_most), percent(found)])
    return table(["ε", "right at most", f"found at {percent(FALSE_ALARMS)} false alarms, at most"], rows)


def attacks() -> list[str]:
    """Return the table of the most that the audits' attacks proved of each algorithm, as right guesses."""
    best: dict[str, float] = {}
    for cells in _sound_rows(AUDITS.read_text(encoding="utf-8")):
        if not cells[1].endswith("replaced"):
            best[cells[0]] = max(best.get(cells[0], 0.0), *map(float, cells[4:8]))
    rows = [[name, f"{proved:.3f}", f"{math.floor(1000 * _right(proved)) / 10}%"] for name, proved in best.items()]
    return table(["algorithm", "ε proved, of 1 claimed", "right guesses"], rows)


def _right(epsilon: float) -> float:
    return TradeOff.of(
        [[SampledGaussian("full", 1.0, gaussian_shift(epsilon, DELTA))]], adjacency="zero_out"
    ).right_at_most


def _sound_rows(page: str) -> Iterator[list[str]]:
    """Yield the cells of the audits' table of the code as it is."""
    for line in page.partition("## With a fault planted")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 9 and cells[2].isdigit():
            yield cells


def _popri(clients: int, epsilon: float, trust: str) -> float:
    declared = conf_base(Privacy, epsilon=epsilon, delta=DELTA, aggregation=trust)
    return ratio(popri.planned_ledger(clients, conf_base(Popri), declared, embedding_dim=EMBEDDING))


def _dp_ftrl(clients: int, privacy: Privacy) -> Ledger:
    params = conf_base(DpFtrl)
    return FollowTheRegularizedLeader(params, chosen_factorisation(params)).planned_ledger(
        clients, privacy, dim=WEIGHTS
    )


def _under(plan: Callable[[Privacy], Ledger], trust: str, epsilon: float) -> float | None:
    """Return noise over signal under a trust; None where the algorithm refuses it."""
    try:
        return ratio(plan(conf_base(Privacy, epsilon=epsilon, delta=DELTA, aggregation=trust)))
    except InputError:
        return None


def _shown(number: float | None) -> str:
    return "refused" if number is None else f"{float(f'{number:.2g}'):.12g}"


def tables() -> str:
    """Return all tables, in the order of the page."""
    return "\n\n".join("\n".join(lines) for lines in (gains(), attacks(), by_clients(), by_trust()))


if __name__ == "__main__":
    print(tables())
