"""The contamination report as a page: the verdict, then the measurements, then the number of newer records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = {
    "longest_run": "longest run of the record's own words in a completion (words)",
    "shared_ngrams": "share of the record's runs of words in a completion",
    "log_likelihood": "log-likelihood (nats a byte)",
    "reference": "log-likelihood under the on-device model, which has read neither side",
    "beyond_reference": "log-likelihood, beyond what the on-device model finds",
}


def render_contamination(report: Mapping[str, Any]) -> str:
    """Render the report as Markdown."""
    totals = report["totals"]
    lines = [
        f"# Has {report['model']} read {report['snapshot']}?",
        "",
        f"The model's training data are said to end on {report['cutoff']}. Of the records {totals['newer']:,} are "
        f"newer, {totals['older']:,} are not, and {totals['undated']:,} have no date.",
        "",
        report["verdict"],
        "",
        *_tests(report),
        "## Records by month",
        "",
        "| config | source | month | side | records |",
        "| --- | --- | --- | --- | ---: |",
        *(
            f"| {one['config']} | {one['source']} | {one['month']} | {one['side']} | {one['records']:,} |"
            for one in report["by_month"]
        ),
    ]
    return "\n".join(lines) + "\n"


def _tests(report: Mapping[str, Any]) -> list[str]:
    if not report["tests"]:
        return []
    rows = [
        f"| {NAMES[name]} | {one['older']:.3f} | {one['newer']:.3f} | {one['estimate']:+z.3f} | {one['low']:+z.3f} to "
        f"{one['high']:+z.3f} | {'yes' if one['detected'] else 'no'} |"
        for name, one in report["tests"].items()
    ]
    head = [
        f"Tested on {report['texts']} texts of each side.",
        "",
        "| what | before the cutoff | after | difference | 95% interval | stands out |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    return [*head, *rows, ""]
