"""The comparison as people read it: Table 1's and Table 2's form, verdicts, limits; Markdown, CSV and one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from fedtext.evaluation.conditions import CONDITIONS
from fedtext.reporting.page import bullets, figure_html, page
from fedtext.reporting.tables import cost_table_html, table
from fedtext.reporting.wording import spent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MADE = {"synthetic": "synthetic text", "trained_model": "private text, under DP"}
TABLE1 = ("method", "trained on", "ε", "accuracy, %", "points above ε = 0", "gap closed, %", "FID")
LIMITS = (
    "Intervals are Student's t over the seeds, 95%. The clients' split and the held-out clients are the same for every "
    "seed, so the intervals do not cover the draw of the clients; each run's own report has those.",
    "Each claim is judged by its own 95% interval; with many claims some verdicts are chance.",
    "Accuracies are held-out evaluations on private text. They steer nothing here; choosing an algorithm or parameters "
    "by them for the same text would be an unaccounted release.",
    "Seconds are wall time of this machine under whatever else it did, and differ from run to run.",
)


def table1_rows(comparison: Mapping[str, Any]) -> list[list[str]]:
    """Rows of Table 1's form: the conditions without privacy cost, every entry, the private text."""
    conditions = comparison["conditions"]
    rows = [
        [
            CONDITIONS[name],
            "",
            _epsilon(found["epsilon"]),
            interval(found["top_1"], 100, 1),
            "",
            "",
            interval(found["fid"], 1, 3),
        ]
        for name, found in conditions.items()
    ]
    for name, entry in comparison["entries"].items():
        rows.append(
            [
                name,
                MADE[entry["made"]],
                _epsilon(entry["epsilon"]),
                interval(entry["top_1"], 100, 1),
                interval(entry["gain"], 100, 1),
                interval(entry["gap_closed"], 100, 0),
                interval(entry["fid"], 1, 3),
            ]
        )
    return rows


def claim_rows(comparison: Mapping[str, Any]) -> list[list[str]]:
    """A row for each claim that could be judged: what is said, the difference, the verdict."""
    rows = []
    for claim in comparison["claims"].values():
        accuracy, fid = claim["accuracy"], claim["fid"]
        measured = f"{claim['better']} against {claim['worse']}: {interval(accuracy, 100, 2)} points"
        verdict = accuracy["verdict"]
        if claim["relation"] == "alike" and claim["tolerance"] is None:
            measured += "; within what, nobody knows: there is no control on the private text itself"
        if claim["tolerance"] is not None:
            measured += f"; alike within {100 * claim['tolerance']:.2f}"
        if fid is not None:
            measured += f"; FID lower by {interval(fid, 1, 3)}"
            verdict = verdict if fid["verdict"] == verdict else f"accuracy: {verdict}; FID: {fid['verdict']}"
        rows.append([claim["says"], measured, verdict])
    return rows


def interval(found: Mapping[str, Any] | None, scale: float, decimals: int) -> str:
    """`10.3 (10.1 to 10.6)`; the mean alone where one run has no interval; a dash where nothing was measured."""
    if found is None:
        return "–"
    mean, low, high = (found[key] for key in ("mean", "low", "high"))
    shown = f"{scale * mean:z.{decimals}f}"
    return shown if low is None else f"{shown} ({scale * low:z.{decimals}f} to {scale * high:z.{decimals}f})"


def table1_csv(comparison: Mapping[str, Any]) -> str:
    """Table 1 with a column for every number."""
    import pandas as pd

    rows = []
    for name, entry in comparison["entries"].items():
        row = {"entry": name, "algorithm": entry["algorithm"], "made": entry["made"], "epsilon": entry["epsilon"]}
        rows.append(row | _columns(entry, ("top_1", "gain", "gap_closed", "fid")))
    for name, found in comparison["conditions"].items():
        rows.append({"entry": name, **_columns(found, ("top_1", "fid"))})
    return pd.DataFrame(rows).to_csv(index=False)


def table2_csv(costs: Sequence[Mapping[str, Any]]) -> str:
    """Table 2: floats, exchanges, bytes and seconds, the published rows last."""
    import pandas as pd

    return pd.DataFrame(list(costs)).to_csv(index=False)


def render_markdown(comparison: Mapping[str, Any]) -> str:
    """Tables, verdicts, prices and limits as Markdown; nothing in it depends on how long a run took."""
    lines = [f"# {_title(comparison)}", "", *_markdown(TABLE1, table1_rows(comparison)), ""]
    if comparison["claims"]:
        lines += ["## The paper's claims", "", *_markdown(("claim", "measured", "verdict"), claim_rows(comparison)), ""]
    lines += ["## Privacy", "", *(f"- {sentence}" for sentence in comparison["prices"]), "", "## Limits", ""]
    return "\n".join([*lines, *(f"- {limit}" for limit in limits(comparison))]) + "\n"


def render_page(
    comparison: Mapping[str, Any], costs: Sequence[Mapping[str, Any]], figures: Mapping[str, Figure]
) -> str:
    """One HTML page that works offline; a figure without data is a sentence that says why."""
    tables = table(
        "Next-token accuracy on held-out text, means over seeds (95% intervals)", TABLE1, table1_rows(comparison)
    )
    claims = table("Paired by seed", ("claim", "measured", "verdict"), claim_rows(comparison), kind="words")
    drawn = "".join(_figure(name, figure) for name, figure in figures.items())
    sections = {
        "accuracy": ("Accuracy", tables),
        "claims": ("The paper's claims", claims if comparison["claims"] else ""),
        "figures": ("Figures", drawn),
        "cost": ("Cost", cost_table_html(costs)),
        "privacy": ("Privacy", bullets(comparison["prices"])),
        "limits": ("Limits", bullets(limits(comparison))),
    }
    return page(_title(comparison), comparison["prices"][:1], sections, drawn=any(f.data for f in figures.values()))


def limits(comparison: Mapping[str, Any]) -> list[str]:
    """What the figures do not say."""
    said, sizes = [], comparison["fid_sizes"]
    if comparison["simulated"]:
        said.append("The noise came from a public seed: every ε is what it would be, and nobody is protected.")
    if len(sizes) == 1:
        said.append(f"Every FID is taken at {sizes[0]:,} texts a side; at other sizes its bias is another.")
    if len(sizes) > 1:
        taken = ", ".join(f"{size:,}" for size in sizes)
        said.append(f"Distances are left out: the runs' FIDs are of {taken} texts a side and do not compare.")
    return [*said, *LIMITS]


def _figure(name: str, figure: Figure) -> str:
    if figure.data:
        return figure_html(name, figure, "")
    return f"<p>{escape(figure.layout.title.text)}: {escape(figure.layout.meta or '')}</p>"


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


def _columns(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, float | None]:
    return {
        f"{name}{suffix}": (entry[name] or {}).get(key)
        for name in names
        for key, suffix in (("mean", ""), ("low", "_low"), ("high", "_high"))
    }
