"""Templates: HTML is escaped by itself, other kinds are not, and a missing value is an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from fedtext.system.templates import templates


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    home = tmp_path / "package_of_templates"
    home.mkdir()
    (home / "__init__.py").touch()
    for kind in ("html", "md", "css"):
        (home / f"a.{kind}.j2").write_text("{{ text }}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return home.name


@pytest.mark.parametrize(("kind", "shown"), [("html", "&lt;b&gt;"), ("md", "<b>"), ("css", "<b>")])
def test_html_alone_is_escaped(package: str, kind: str, shown: str) -> None:
    template = templates(package).get_template(f"a.{kind}.j2")
    assert template.render(text="<b>") == f"{shown}\n"
    with pytest.raises(UndefinedError, match="text"):
        template.render()
