"""Render the templates in this folder; text in HTML is escaped automatically."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fedtext.reporting.figure_style import FONT, INK, MUTED, RULE, SYNTHETIC
from fedtext.reporting.glossary import explained
from fedtext.system.templates import HTML, templates

if TYPE_CHECKING:
    from jinja2 import Environment

LOOK = {"font": FONT, "ink": INK, "muted": MUTED, "rule": RULE, "accent": SYNTHETIC}


def render(template: str, **values: Any) -> Markup:
    """Return the HTML of `template` with `values`; `Markup` is inserted as it is, everything else as escaped text.

    Raises:
        jinja2.UndefinedError: the template needs a value that was not given.
    """
    return Markup(_pages().get_template(f"{template}{HTML}").render(values))


def markdown(template: str, **values: Any) -> str:
    """Return the Markdown of `template` with `values`; text is inserted as it is."""
    return _pages().get_template(f"{template}.md.j2").render(values)


@cache
def _pages() -> Environment:
    found = templates("fedtext.reporting.templates")
    found.filters["explained"] = explained
    found.globals["look"] = LOOK
    return found
