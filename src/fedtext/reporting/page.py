"""A page of one file that works offline and asks nothing of any network: heading, lead, sections, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from fedtext.reporting.glossary import explained
from fedtext.reporting.stylesheet import STYLESHEET

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Nothing is fetched, whatever a text or a script library says.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def page(
    heading: str,
    lead: Sequence[str],
    sections: Mapping[str, tuple[str, str]],
    *,
    drawn: bool,
    notes: Sequence[str] = (),
) -> str:
    """The page; `sections` are id -> (title, body), empty ones left out; `drawn` brings the plotting library along."""
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(title)}</h2>{content}</section>'
        for name, (title, content) in sections.items()
        if content
    )
    sentences = "".join(f"<p>{explained(sentence)}</p>" for sentence in lead)
    remarks = "".join(f"<p>{explained(note)}</p>" for note in notes)
    below = f'<div class="notes">{remarks}</div>' if notes else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="color-scheme" content="light dark">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)}</title><style>{STYLESHEET}</style>{_library() if drawn else ''}</head>"
        f'<body><main><h1>{escape(heading)}</h1><div class="lead">{sentences}</div>{below}{body}</main>'
        "</body></html>\n"
    )


def figure_html(name: str, figure: Figure, caption: str) -> str:
    """A figure with its caption; the page must bring the library."""
    from plotly.io import to_html

    config = {"displaylogo": False, "displayModeBar": False, "responsive": True}
    drawing = to_html(figure, full_html=False, include_plotlyjs=False, config=config, div_id=f"figure-{name}")
    return f'<figure><div class="scroll">{drawing}</div><figcaption>{explained(caption)}</figcaption></figure>'


def bullets(items: Sequence[str]) -> str:
    """An unordered list."""
    return "<ul>" + "".join(f"<li>{explained(item)}</li>" for item in items) + "</ul>"


def _library() -> str:
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"
