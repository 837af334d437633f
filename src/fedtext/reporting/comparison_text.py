"""The comparison for readers: tables in POPri's layout, verdicts, limits; as Markdown, CSV and one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.measures.measure import ABSENT, SHARE, Measure, Unit
from fedtext.evaluation.wording import spent
from fedtext.params.conditions import CONDITIONS, EPS0
from fedtext.reporting.comparison import main_measure
from fedtext.reporting.page import bullets, figure_html, page
from fedtext.reporting.tables import cost_table_html, table
from fedtext.reporting.templates import render

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DECIMALS = 2  # of a difference at least
LIMITS = (
    "Intervals are Student's t over the seeds, 95%. The clients' split and the held-out clients are the same for every "
    "seed, so the intervals do not cover the draw of the clients; each run's own report has those.",
    "Each claim is judged by its own 95% interval; with many claims some verdicts are chance.",
    "Accuracies are held-out evaluations on test clients' text. They steer nothing here; choosing an algorithm or "
    "parameters by them for the same text would be an unaccounted release.",
    "Seconds are wall time of this machine under whatever else it did, and differ from run to run.",
)


def table1_head(comparison: Mapping[str, Any]) -> list[str]:
    """Return the headings of Table 1: up to four columns for the main measure, one for every other."""
    lead, *others = map(measure, comparison["measures"])
    gain = f"{lead.unit.step or 'change'} above {EPS0.label}"
    left = ["of what is left, %"] if _has_remaining_gap(comparison) else []
    of_lead = [*left, f"{lead.noun}{lead.axis}", gain, "whole gap closed, %"]
    return ["method", "trained on", "ε", *of_lead, *[f"{each.column}{each.axis}" for each in others]]


def table1_rows(comparison: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of Table 1: the conditions without privacy cost, every entry, the private text."""
    lead, *others = map(measure, comparison["measures"])
    shares = _has_remaining_gap(comparison)
    rows = []
    for found in comparison["conditions"].values():
        level, *rest = [_shown(each, found["measures"]) for each in (lead, *others)]
        title = " of ".join([CONDITIONS[found["condition"]].title, *([", ".join(found["of"])] if found["of"] else [])])
        rows.append([title, "", _epsilon(found["epsilon"]), *([""] if shares else []), level, "", "", *rest])
    for name, entry in comparison["entries"].items():
        level, *rest = [_shown(each, entry["measures"]) for each in (lead, *others)]
        gained = interval(entry["gain"], lead.unit, lead.decimals)
        closed = interval(entry["gap_closed"], SHARE, 0)
        left = [interval(entry.get("remaining_gap"), SHARE, 0)] if shares else []
        made = CONDITIONS[entry["made"]].label
        rows.append([name, made, _epsilon(entry["epsilon"]), *left, level, gained, closed, *rest])
    return rows


def _has_remaining_gap(comparison: Mapping[str, Any]) -> bool:
    return any(entry.get("remaining_gap") for entry in comparison["entries"].values())


def claim_rows(comparison: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each claim that could be tested: the claim, the differences, the verdict."""
    return [
        [claim["says"], f"{claim['better']} against {claim['worse']}: {_differences(claim)}", _verdict(claim)]
        for claim in comparison["claims"].values()
    ]


def _differences(claim: Mapping[str, Any]) -> str:
    """Return the differences by each measure: `accuracy higher by 1.30 (0.91 to 1.69) points; FID lower by 0.045`."""
    said = []
    for each, found in _measured(claim):
        decimals = max(each.decimals, DECIMALS)
        by = f"{each.noun} {each.direction.word} by {interval(found, each.unit, decimals)} {each.unit.step}".rstrip()
        if claim["relation"] == "alike":
            by += _tolerance(each, found["tolerance"])
        said.append(by)
    return "; ".join(said)


def _tolerance(each: Measure, tolerance: float | None) -> str:
    if tolerance is None:
        return "; the tolerance is unknown, since no model was trained on the private text itself"
    return f"; alike within {each.unit.scale * tolerance:.{max(each.decimals, DECIMALS)}f}"


def _verdict(claim: Mapping[str, Any]) -> str:
    """Return one verdict where all measures agree, else each measure's own."""
    verdicts = {each.noun: found["verdict"] for each, found in _measured(claim)}
    if len(agreed := set(verdicts.values())) == 1:
        return str(agreed.pop())
    return "; ".join(f"{noun}: {said}" for noun, said in verdicts.items())


def _measured(claim: Mapping[str, Any]) -> list[tuple[Measure, Mapping[str, Any]]]:
    return [(measure(name), found) for name, found in claim["measured"].items()]


def _shown(each: Measure, found: Mapping[str, Any]) -> str:
    return interval(found[each.name], each.unit, each.decimals)


def interval(found: Mapping[str, Any] | None, unit: Unit, decimals: int) -> str:
    """Format an interval, `10.3 (10.1 to 10.6)`; the mean alone for a single run; a dash without a value."""
    if found is None:
        return ABSENT
    mean, low, high = (found[key] for key in ("mean", "low", "high"))
    shown = f"{unit.scale * mean:z.{decimals}f}"
    if low is None:
        return shown
    return f"{shown} ({unit.scale * low:z.{decimals}f} to {unit.scale * high:z.{decimals}f})"


def table1_csv(comparison: Mapping[str, Any]) -> str:
    """Return Table 1 as CSV, with a column for every number."""
    import pandas as pd

    lead, *others = comparison["measures"]
    rows = []
    for name, entry in comparison["entries"].items():
        row = {"entry": name, "algorithm": entry["algorithm"], "made": entry["made"], "epsilon": entry["epsilon"]}
        of_lead = {lead: entry["measures"][lead], "gain": entry["gain"], "gap_closed": entry["gap_closed"]}
        of_lead |= {"remaining_gap": entry.get("remaining_gap")} if _has_remaining_gap(comparison) else {}
        rows.append(row | _columns(of_lead | {other: entry["measures"][other] for other in others}))
    for name, found in comparison["conditions"].items():
        rows.append({"entry": name, **_columns(found["measures"])})
    return pd.DataFrame(rows).to_csv(index=False)


def table2_csv(costs: Sequence[Mapping[str, Any]]) -> str:
    """Return Table 2 as CSV: floats, exchanges, bytes and seconds, the published rows last."""
    import pandas as pd

    return pd.DataFrame(list(costs)).to_csv(index=False)


def render_markdown(comparison: Mapping[str, Any]) -> str:
    """Render tables, verdicts, privacy costs and limits as Markdown; it does not depend on the run's duration."""
    lines = [f"# {_title(comparison)}", "", *_markdown(table1_head(comparison), table1_rows(comparison)), ""]
    if comparison["claims"]:
        lines += ["## The paper's claims", "", *_markdown(("claim", "measured", "verdict"), claim_rows(comparison)), ""]
    lines += ["## Privacy", "", *(f"- {sentence}" for sentence in comparison["prices"]), "", "## Limits", ""]
    return "\n".join([*lines, *(f"- {limit}" for limit in limits(comparison))]) + "\n"


def render_page(
    comparison: Mapping[str, Any], costs: Sequence[Mapping[str, Any]], figures: Mapping[str, Figure]
) -> str:
    """Render one HTML page that works offline; a figure without data is a sentence with the reason."""
    lead = main_measure(comparison)
    caption = f"{lead.title[:1].upper()}{lead.title[1:]} on held-out text, means over seeds (95% intervals)"
    tables = table(caption, table1_head(comparison), table1_rows(comparison))
    claims = table("Paired by seed", ("claim", "measured", "verdict"), claim_rows(comparison), kind="words")
    drawn = Markup().join(_figure(name, figure) for name, figure in figures.items())
    sections = {
        "accuracy": ("Accuracy", tables),
        "claims": ("The paper's claims", claims if comparison["claims"] else Markup()),
        "figures": ("Figures", drawn),
        "cost": ("Cost", cost_table_html(costs)),
        "privacy": ("Privacy", bullets(comparison["prices"])),
        "limits": ("Limits", bullets(limits(comparison))),
    }
    return page(_title(comparison), comparison["prices"][:1], sections, drawn=any(f.data for f in figures.values()))


def limits(comparison: Mapping[str, Any]) -> list[str]:
    """Return the limits of the comparison, as sentences."""
    said, sizes = [], comparison["fid_sizes"]
    if comparison["simulated"]:
        said.append("The noise came from a public seed: every ε is what it would be, and nobody is protected.")
    if comparison["public"]:
        said.append("The text is public, so releases are counted and not refused.")
    if len(sizes) == 1:
        said.append(f"Every FID is taken at {sizes[0]:,} texts a side; at other sizes its bias is another.")
    if len(sizes) > 1:
        taken = ", ".join(f"{size:,}" for size in sizes)
        said.append(f"Distances are left out: the runs' FIDs are of {taken} texts a side and do not compare.")
    return [*said, *LIMITS]


def _figure(name: str, figure: Figure) -> Markup:
    if figure.data:
        return figure_html(name, figure, "")
    return render("missing_figure", title=figure.layout.title.text, reason=figure.layout.meta or "")


def _title(comparison: Mapping[str, Any]) -> str:
    entries, seeds = len(comparison["entries"]), len(comparison["seeds"])
    compared = f"{entries} entries compared" if entries > 1 else f"{next(iter(comparison['entries']))} and its controls"
    return f"{compared} on {comparison['corpus']}, {seeds} seed{'s' * (seeds > 1)}"


def _epsilon(epsilon: float | None) -> str:
    if epsilon is None:
        return "∞"
    return spent(epsilon) if epsilon else "0"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    shown = ([cell.replace("|", "\\|") for cell in cells] for cells in (head, ["---"] * len(head), *rows))
    return [f"| {' | '.join(cells)} |" for cells in shown]


def _columns(found: Mapping[str, Mapping[str, Any] | None]) -> dict[str, float | None]:
    return {
        f"{name}{suffix}": (interval or {}).get(key)
        for name, interval in found.items()
        for key, suffix in (("mean", ""), ("low", "_low"), ("high", "_high"))
    }
