"""The privacy report of a run: what was protected, at which epsilon, by which releases, and under which assumptions.

Parties are reported by groups: a row for all of one kind that were charged for the same releases.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from fedtext.params.privacy import Adjacency
from fedtext.privacy.allowance import Allowance
from fedtext.privacy.assumptions import SIMULATED, assumptions, who_saw
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.parties import Party, spend_profiles
from fedtext.privacy.published_epsilon import published_epsilon
from fedtext.privacy.signal_to_noise import signal_line, signal_lines, signal_rows
from fedtext.privacy.spending import Rules, Spent, Total, counted_entries, party_totals, spent_on, totals, worst_total
from fedtext.privacy.trade_off import attacker
from fedtext.privacy.wording import number, shown, table

_Alike = tuple[str, float, tuple[tuple[str, int], ...]]  # kind, budget, and names and rounds of releases


def party_rows(ledger: Ledger, history: Sequence[Spent]) -> list[dict[str, Any]]:
    """Return a row for the parties of one kind with one budget and the same releases, in the ledger's order.

    Each row has `kind`, `parties` (how many), `population` (the fewest and the most units of one), `budget`, `epsilon`
    of the run and `epsilon_data_set` of all runs (the largest among them), the names of their `releases`, and `each` of
    them by name, with its own population and epsilons.
    """
    paid = spend_profiles([release.parties for release in ledger.releases], [party.name for party in ledger.parties])
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


def parties_charged(release: Release, ledger: Ledger) -> dict[str, int]:
    """Count the parties of each kind that took part."""
    part = ledger.parties if release.parties is None else [p for p in ledger.parties if p.name in set(release.parties)]
    return dict(Counter(party.kind for party in part))


def party_lines(report: Mapping[str, Any]) -> list[str]:
    """Return the Markdown section on parties; empty where the ledger tells no parties apart."""
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


EVALUATION = {
    "evaluation": "accuracy and distances are measured on the test clients' text, of which nothing else is made; what "
    "that costs the test clients, or that it does not protect them, is in the first lines of report.html",
    "the control 'private text' (epsilon = infinity), where it is asked for": "a model is trained on the protected "
    "text itself and thrown away; its accuracy, and the share of the gap that is measured by it, are covered by no "
    "epsilon: leave them out of what you publish, unless the text may be read",
}
SPAN = "the one span of text that it is (a longer document is several records)"
PAIR = "the one pair that it is, a prompt with two answers (several pairs of one person are several records)"
PRIVATE = Allowance(public=False)
NEIGHBOURS = {
    "zero_out": "{unit}s is replaced by one that contributes nothing; their number is public",
    "add_remove": "{unit}s is added or removed",
    "replace_one": "{unit}s is replaced by any other; their number is public",
}


def final_report(
    ledger: Ledger,
    history: Sequence[Spent],
    further: Sequence[str] = (),
    record: str = SPAN,
    allowance: Allowance = PRIVATE,
) -> tuple[dict[str, Any], str]:
    """Build `privacy_report.json` and `privacy_report.md`, the output of every algorithm's last node.

    Args:
        ledger: The ledger after the last release.
        history: Every release of the data root's private data, this run's among them.
        further: Assumptions that the run relies on beyond those of the declaration.
        record: The content of a record, as `SPAN` or `PAIR`.
        allowance: What all releases may cost; by default the allowance of a private corpus.

    Returns:
        The report for JSON, and its Markdown.
    """
    for name, reason in EVALUATION.items():
        ledger = ledger.evaluation_only_read(name, reason)
    report = privacy_report(ledger, history=history, further=further, record=record, allowance=allowance)
    return report, render_markdown(report)


def privacy_report(
    ledger: Ledger,
    *,
    further: Sequence[str] = (),
    history: Sequence[Spent] = (),
    record: str = SPAN,
    allowance: Allowance = PRIVATE,
) -> dict[str, Any]:
    """Build the privacy report of a run, ready for JSON; an infinite epsilon is the string "infinity".

    Args:
        ledger: The final ledger.
        further: Assumptions that the run relies on beyond those of the declaration.
        history: Every release of the data root's private data, this run's among them.
        record: The content of a record, as `SPAN` or `PAIR`.
        allowance: What all releases may cost; by default the allowance of a private corpus.
    """
    declaration = ledger.declaration
    simulated = declaration.noise_seed is not None
    told_apart = {"partition": ledger.partition, "parties": party_rows(ledger, history)} if ledger.parties else {}
    return {
        "statement": _statement(ledger, record) + (f" This is a {SIMULATED}." if simulated else ""),
        "who_saw": who_saw(ledger),
        "epsilon": number(ledger.epsilon()),
        "delta": declaration.delta,
        "budget": declaration.epsilon,
        "unit": declaration.unit,
        "adjacency": declaration.adjacency,
        "neighbours": f"one of the {NEIGHBOURS[declaration.adjacency].format(unit=declaration.unit)}",
        "population": ledger.protected_units,
        "declared": None if allowance.public or ledger.parties else declaration.population,
        **told_apart,
        "epsilon_by_adjacency": {adjacency: _epsilon_under(ledger, adjacency) for adjacency in get_args(Adjacency)},
        "attacker": attacker(ledger),
        "signal_to_noise": signal_line(ledger),
        "signals": signal_rows(ledger),
        "releases": _releases(ledger),
        "unaccounted": [entry.model_dump() for entry in ledger.unaccounted],
        "evaluation_only": [entry.model_dump() for entry in ledger.evaluation_only],
        "published": published_epsilon(ledger),
        "data_set": _data_set(ledger, history, allowance),
        "noise": SIMULATED if simulated else "a secret key from the operating system",
        "assumptions": [*assumptions(ledger), *further],
    }


def render_markdown(report: dict[str, Any]) -> str:
    """Render the report as Markdown, the verdict first."""
    first = (report["statement"], report["who_saw"], report["attacker"]["statement"])
    lines = ["# Privacy report", *(line for one in first for line in ("", one)), "", *_facts(report)]
    lines += [*signal_lines(report["signals"], report["signal_to_noise"]), *party_lines(report)]
    lines += ["", "## Releases", ""]
    if report["releases"]:
        head = [
            "release",
            "round",
            "sampling",
            "sensitivity",
            "noise stddev",
            "multiplier",
            "epsilon alone",
            "cumulative",
            *(["parties"] if "parties" in report else []),
        ]
        rows = [
            [
                f"{r['name']}" + (f" x {r['steps']}" if r["steps"] > 1 else ""),
                str(r["round"]),
                r["sampling"] if r["sampling"] == "full" else f"{r['sampling']} {r['rate']:.4g}",
                *(f"{r[key]:.6g}" for key in ("sensitivity", "noise_stddev", "noise_multiplier")),
                *(shown(r[key]) for key in ("epsilon_alone", "epsilon_cumulative")),
                *([", ".join(f"{kind} x {n:,}" for kind, n in r["paid_by"].items())] if "paid_by" in r else []),
            ]
            for r in report["releases"]
        ]
        lines += [
            *table(head, rows),
            "",
            *(f"- {m}" for m in dict.fromkeys(r["mechanism"] for r in report["releases"])),
        ]
    else:
        lines.append("None: no private data were released.")
    for title, key in (("Unaccounted reads", "unaccounted"), ("Evaluation only", "evaluation_only")):
        lines += ["", f"## {title}", ""]
        lines += [f"- {entry['name']}: {entry['reason']}" for entry in report[key]] or ["None."]
    if report["published"]:
        lines += ["", "## Published and exact", "", report["published"]["statement"]]
    lines += ["", "## All releases on record", "", *_together(report["data_set"])]
    lines += ["", "## Assumptions", "", *(f"- {assumption}" for assumption in report["assumptions"])]
    return "\n".join(lines) + "\n"


def _together(total: Mapping[str, Any]) -> list[str]:
    """Return the lines on the privacy cost of all runs, with a table of their promises where these differ."""
    lines = [total["statement"], *(["", *(f"- {words}" for words in total["spent_on"])] if total["spent_on"] else [])]
    if len(total["promises"]) == 1:
        return lines
    head = ["promised to a", "under", "delta", "budget", "epsilon of all runs"]
    rows = [
        [one["unit"], one["adjacency"], f"{one['delta']:.4g}", shown(one["budget"]), shown(one["epsilon"])]
        for one in total["promises"]
    ]
    return [*lines, "", *table(head, rows)]


def reported_releases(report: Mapping[str, Any]) -> list[Release]:
    """Return the releases that a report lists, without their privacy costs."""
    stored = {field.serialization_alias or name for name, field in Release.model_fields.items()}
    return [Release.model_validate({key: entry[key] for key in entry if key in stored}) for entry in report["releases"]]


def _statement(ledger: Ledger, record: str) -> str:
    declaration = ledger.declaration
    if ledger.unaccounted:
        names = ", ".join(f"'{entry.name}'" for entry in ledger.unaccounted)
        return (
            f"No {declaration.unit} is protected: epsilon is infinite, because private data were read without a "
            f"mechanism by {names}; the accounted releases alone would be epsilon = {shown(ledger.spent())} at "
            f"delta = {declaration.delta:.4g}."
        )
    if not ledger.releases:
        return (
            f"Nothing was released of what the {ledger.protected_units:,} {declaration.unit}s hold: no result of the "
            "algorithm depends on it, and it costs them nothing (epsilon = 0)."
        )
    whole = "everything it holds" if declaration.unit == "client" else record
    held = f" of {len(ledger.parties):,} parties" if ledger.parties else ""
    worst = ", the price of the party that spent most" if ledger.parties else ""
    return (
        f"Protected is every single {declaration.unit} among {ledger.protected_units:,}{held}, with {whole}, at "
        f"epsilon = {shown(ledger.epsilon())} and delta = {declaration.delta:.4g} ({declaration.adjacency}){worst}."
    )


def _facts(report: dict[str, Any]) -> list[str]:
    by_adjacency = ", ".join(f"{name} {shown(value)}" for name, value in report["epsilon_by_adjacency"].items())
    return [
        f"- Neighbouring data: {report['neighbours']}.",
        f"- Epsilon at delta = {report['delta']:.4g}: {by_adjacency}.",
        f"- Declared budget: epsilon = {report['budget']:.6g} under {report['adjacency']}.",
        f"- Noise: {report['noise']}.",
    ]


def _releases(ledger: Ledger) -> list[dict[str, Any]]:
    entries = []
    for count, release in enumerate(ledger.releases, start=1):
        alone = ledger.model_copy(update={"releases": (release,)})
        so_far = ledger.model_copy(update={"releases": ledger.releases[:count]})
        price = {"epsilon_alone": number(alone.spent()), "epsilon_cumulative": number(so_far.spent())}
        paid = {"paid_by": parties_charged(release, ledger)} if ledger.parties else {}
        entries.append({**release.model_dump(), "noise_multiplier": release.noise_multiplier, **price, **paid})
    return entries


def _data_set(ledger: Ledger, history: Sequence[Spent], allowance: Allowance) -> dict[str, Any]:
    """Compute the privacy cost of all releases of the same clients' data, over all runs, and its limit.

    There is a row for each promise made to the clients; first the one whose budget is used up most.
    """
    newest = next((entry for entry in reversed(history) if not entry.elsewhere), None)
    rules = newest.rules if newest else Rules("")
    found = totals(history, ledger, rules, allowed=allowance.total)
    worst, made = worst_total(found), counted_entries(history, ledger, rules)
    elsewhere = sum(bool(entry.elsewhere) for entry in made)
    whose = f"what these {ledger.declaration.unit}s hold"
    said = f"No release of {whose} is on record"
    if made:
        several = len({total.promise for total in found}) > 1
        said = (
            f"All releases on record of {whose}, {_answers(len(made), elsewhere)}, cost "
            f"epsilon = {shown(number(worst.epsilon))} together"
            f"{', for the party that spent most' if ledger.parties else ''}"
            f"{f', counted for {worst.promise}: of what runs promised, what is used up most' if several else ''}"
            f"{f', because {worst.reason}' if worst.reason else ''}"
        )
    return {
        "epsilon": number(worst.epsilon),
        "budget": None if allowance.public or ledger.parties else number(worst.budget),
        "releases": len(made),
        "elsewhere": elsewhere,
        "public": allowance.public,
        "promise": _promise(worst),
        "promises": [_promise(worst_total(same)) for same in _by_promise(found)],
        "statement": f"{said}; {_bound(worst.budget, allowance)}.",
        "spent_on": spent_on(history, ledger, rules, worst.promise),
    }


def _bound(limit: float, allowance: Allowance) -> str:
    if allowance.public:
        return "the corpus is public, so releases are counted and none is refused"
    if math.isinf(limit):
        return "the corpus is private, and nothing limits what its releases cost (privacy.total_epsilon is infinite)"
    return f"epsilon {limit:.6g} are allowed"


def _by_promise(found: Sequence[Total]) -> list[list[Total]]:
    promises = dict.fromkeys(total.promise for total in found)
    return [[total for total in found if total.promise == promise] for promise in promises]


def _promise(total: Total) -> dict[str, Any]:
    """Return one promise, its budget, and the epsilon of all releases under it, for the party that spent most."""
    told = total.promise
    what = {"unit": told.unit, "adjacency": told.adjacency, "delta": told.delta, "part": told.part}
    return {**what, "budget": number(total.budget), "epsilon": number(total.epsilon), "reason": total.reason or None}


def _answers(number: int, elsewhere: int) -> str:
    told = f"{number} {'answer' if number == 1 else 'answers'}"
    return f"{told}, {elsewhere} of them in another data root" if elsewhere else told


def _epsilon_under(ledger: Ledger, adjacency: Adjacency) -> float | str:
    try:
        return number(ledger.epsilon(adjacency))
    except ValueError as reason:
        return f"not available: {reason}"
