"""A page in one file that works offline and loads nothing from a network: heading, lead, sections, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from fedtext.reporting.glossary import used_words
from fedtext.reporting.templates import render

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def page(
    heading: str,
    lead: Sequence[str],
    sections: Mapping[str, tuple[str, Markup]],
    *,
    drawn: bool,
    notes: Sequence[str] = (),
    beside: Markup | None = None,
) -> str:
    """Render a page; `sections` are id -> (title, body), empty ones left out; `drawn` includes the plotting library.

    `beside` stands beside the lead, below it on a narrow screen.
    """
    library = _library() if drawn else None
    given = {"lead": lead, "sections": sections, "notes": notes, "beside": beside or Markup()}
    return str(render("page", heading=heading, library=library, **given))


def figure_html(name: str, figure: Figure, caption: str) -> Markup:
    """Return a figure with its caption; the page must include the library."""
    from plotly.io import to_html

    config = {"displaylogo": False, "displayModeBar": False, "responsive": True}
    drawing = to_html(figure, full_html=False, include_plotlyjs=False, config=config, div_id=f"figure-{name}")
    return render("figure", drawing=Markup(drawing), caption=caption)  # plotly escapes what its script holds


def bullets(items: Sequence[str], intro: str = "") -> Markup:
    """Return an unordered list, below `intro` if there is one."""
    return render("bullets", items=items, intro=intro)


def glossary(text: str) -> Markup:
    """Return explanations of the words that `text` uses."""
    words = used_words(text)
    return render("glossary", words=words) if words else Markup()


def _library() -> Markup:
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())
