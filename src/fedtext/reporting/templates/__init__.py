"""The report's HTML: templates beside this file, filled in so that every text in them is escaped by itself."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fedtext.reporting.figure_style import FONT, INK, MUTED, RULE, SYNTHETIC
from fedtext.reporting.glossary import explained

if TYPE_CHECKING:
    from jinja2 import Environment

LOOK = {"font": FONT, "ink": INK, "muted": MUTED, "rule": RULE, "accent": SYNTHETIC}


def render(name: str, **values: Any) -> Markup:
    """The template `name` with `values`: what is `Markup` stands as it is, everything else is text, and escaped.

    Raises:
        jinja2.UndefinedError: the template asks for a value that was not given.
    """
    return Markup(_environment().get_template(f"{name}.html.j2").render(values))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=lambda name: name is None or not name.endswith(".css.j2"),  # style knows no entities
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["explained"] = explained
    environment.globals["look"] = LOOK
    return environment
