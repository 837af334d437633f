"""Text from templates that lie beside a package's `__init__.py`, as `*.j2`; a missing value is an error."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

HTML = ".html.j2"


@cache
def templates(package: str) -> Environment:
    """Return the templates of `package` by file name; HTML templates escape text, others do not.

    Rendering raises `jinja2.UndefinedError` for a value that was not given.
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
