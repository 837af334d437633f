"""Text from templates that lie beside a package's `__init__.py`, as `*.j2`: a value that is missing is an error."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

HTML = ".html.j2"


@cache
def templates(package: str) -> Environment:
    """Those of `package`, by their file names. In HTML all text is escaped by itself; other kinds stand as they are.

    Whoever fills one in gets a `jinja2.UndefinedError` for a value that was not given.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, ""),
        autoescape=lambda name: name is None or name.endswith(HTML),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
