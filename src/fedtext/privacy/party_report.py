"""What the privacy report says of parties: a row for all of one kind that paid the same, not one for each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.parties import Party, bills
from fedtext.privacy.spending import Rules, Spent, party_totals
from fedtext.privacy.wording import number, shown, table

_Alike = tuple[str, float, tuple[tuple[str, int], ...]]  # kind, budget, and names and rounds of releases


def party_rows(ledger: Ledger, history: Sequence[Spent]) -> list[dict[str, Any]]:
    """A row for the parties of one kind with one budget and releases of the same names, in the ledger's order.

    Each has `kind`, `parties` (how many), `population` (the fewest and the most units of one), `budget`, `epsilon` of
    the run and `epsilon_data_set` of all runs (the worst of them), the names of their `releases`, and `each` of them by
    name, with its own population and epsilons.
    """
    paid = bills([release.parties for release in ledger.releases], [party.name for party in ledger.parties])
    newest = next((entry for entry in reversed(history) if not entry.elsewhere), None)
    totals = party_totals(history, ledger, newest.rules if newest else Rules(""))
    alike: dict[_Alike, list[Party]] = defaultdict(list)
    for party in ledger.parties:
        names = tuple((ledger.releases[at].name, ledger.releases[at].round) for at in paid[party.name])
        alike[party.kind, party.epsilon, names].append(party)
    return [_row(parties, _own_epsilons(parties, ledger), totals, names) for (*_, names), parties in alike.items()]


def _own_epsilons(parties: Sequence[Party], ledger: Ledger) -> list[float]:
    return [math.inf if ledger.unaccounted else ledger.spent(party=party.name) for party in parties]


def _row(
    parties: Sequence[Party],
    epsilons: Sequence[float],
    totals: Mapping[str | None, float],
    releases: Sequence[tuple[str, int]],
) -> dict[str, Any]:
    return {
        "kind": parties[0].kind,
        "parties": len(parties),
        "population": [edge(party.population for party in parties) for edge in (min, max)],
        "budget": parties[0].epsilon,
        "epsilon": number(max(epsilons)),
        "epsilon_data_set": number(max(totals[party.name] for party in parties)),
        "releases": list(dict.fromkeys(name for name, _ in releases)),
        "each": {
            party.name: {
                "population": party.population,
                "epsilon": number(epsilon),
                "epsilon_data_set": number(totals[party.name]),
            }
            for party, epsilon in zip(parties, epsilons, strict=True)
        },
    }


def who_paid(release: Release, ledger: Ledger) -> dict[str, int]:
    """How many parties of each kind took part."""
    part = ledger.parties if release.parties is None else [p for p in ledger.parties if p.name in set(release.parties)]
    return dict(Counter(party.kind for party in part))


def party_lines(report: Mapping[str, Any]) -> list[str]:
    """The Markdown section; nothing where the ledger told no parties apart."""
    if "parties" not in report:
        return []
    head = ["parties", f"{report['unit']}s each", "budget", "epsilon", "epsilon of all runs", "releases"]
    rows = [
        [
            f"{row['kind']} x {row['parties']:,}",
            " to ".join(f"{edge:,}" for edge in dict.fromkeys(row["population"])),
            f"{row['budget']:.6g}",
            shown(row["epsilon"]),
            shown(row["epsilon_data_set"]),
            ", ".join(row["releases"]) or "none",
        ]
        for row in report["parties"]
    ]
    return ["", "## Parties", "", *table(head, rows)]
