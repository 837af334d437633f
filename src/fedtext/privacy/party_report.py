"""What the privacy report says of parties: a row for all of one kind that paid the same, not one for each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.parties import Party, bills
from fedtext.privacy.spending import Spent, party_totals
from fedtext.privacy.wording import number, shown, table


def party_rows(ledger: Ledger, history: Sequence[Spent]) -> list[dict[str, Any]]:
    """A row for the parties of one kind with one budget and the same releases, in the ledger's order.

    Each has `kind`, `parties` (how many), `population` (the fewest and the most units of one), `budget`, `epsilon` of
    the run, `epsilon_data_set` of all runs (the worst of them), and the names of their `releases`.
    """
    paid = bills([release.parties for release in ledger.releases], [party.name for party in ledger.parties])
    alike: dict[object, list[Party]] = defaultdict(list)
    for party in ledger.parties:
        alike[party.kind, party.epsilon, paid[party.name]].append(party)
    totals = party_totals(history, ledger, history[-1].split if history else "")
    return [
        {
            "kind": parties[0].kind,
            "parties": len(parties),
            "population": [edge(party.population for party in parties) for edge in (min, max)],
            "budget": parties[0].epsilon,
            "epsilon": number(math.inf if ledger.unaccounted else ledger.spent(party=parties[0].name)),
            "epsilon_data_set": number(max(totals[party.name] for party in parties)),
            "releases": list(dict.fromkeys(ledger.releases[at].name for at in paid[parties[0].name])),
        }
        for parties in alike.values()
    ]


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
