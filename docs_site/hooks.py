"""Hooks of MkDocs: reference pages from the docstrings, listed decisions, and links that leave docs/.

Pages are written for GitHub. A link to a file outside docs/ leads to a page of the site that shows that file.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fedtext"
SHOWN = "repository"  # the site's folder of files that lie outside docs/
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
LANGUAGES = {".py": "python", ".yml": "yaml", ".toml": "toml"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write out the folders and the packages that the navigation names in short."""
    assert config.nav is not None
    config.nav = [_spelled_out(entry) for entry in config.nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference, and every file outside docs/ that a page links to."""
    for package in packages():
        files.append(File.generated(config, f"reference/{package}.md", content=_reference(package)))
    files.append(File.generated(config, "reference/index.md", content=_contents()))
    shown = _linked_outside({f"docs/{file.src_uri}" for file in files if file.is_documentation_page()})
    for place in sorted(shown):
        page = File.generated(config, _address(place), content=_page_of(place), inclusion=InclusionLevel.NOT_IN_NAV)
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to pages of the site."""
    here = page.file.src_uri
    place = here.removeprefix(f"{SHOWN}/").removesuffix(".md") if here.startswith(f"{SHOWN}/") else f"docs/{here}"

    def led(link: re.Match[str]) -> str:
        target = _target(place, link[2])
        if target is None:
            return link[0]
        return link[1] + posixpath.relpath(_address(target), posixpath.dirname(here) or ".") + link[3]

    return _outside_code(markdown, lambda text: LINK.sub(led, text))


@cache
def packages() -> tuple[str, ...]:
    """List the packages of fedtext in the order of the layers, from the top; each once."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [name for layer in layers for name in re.findall(r"\w+", layer)]
    return tuple(name for name in names if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file())


def _spelled_out(entry: object) -> object:
    """Return an entry of the navigation, its `folder/*` replaced by pages, its `reference` by packages."""
    if not isinstance(entry, dict):
        return entry
    [(title, value)] = entry.items()
    if value == "reference":
        return {title: ["reference/index.md", *({name: f"reference/{name}.md"} for name in packages())]}
    if isinstance(value, list):
        return {title: [page for part in value for page in _pages(part)]}
    return entry


def _pages(part: object) -> list[object]:
    if isinstance(part, str) and part.endswith("/*"):
        folder = ROOT / "docs" / part.removesuffix("/*")
        return [f"{folder.name}/{page.name}" for page in sorted(folder.glob("*.md")) if page.name != "README.md"]
    return [_spelled_out(part)]


def _contents() -> str:
    rows = [f"| [`fedtext.{name}`]({name}.md) | {_summary(name)} |" for name in packages()]
    head = "# Reference\n\nWhat the docstrings say, package by package in the order of the layers: a module\n"
    return (
        head + "imports only from layers below its own.\n\n| package | what is in it |\n|---|---|\n" + "\n".join(rows)
    )


def _summary(name: str) -> str:
    """Return the first sentence of a package's docstring, or the names of its modules where it has none."""
    folder = PACKAGE / name
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    said = re.match(r'\s*r?"""(.+?)(?:\n\n|""")', file.read_text("utf-8"), re.S)
    if said:
        return " ".join(said[1].split()).replace("|", r"\|")
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    return ", ".join(f"`{module}`" for module in sorted(modules - {"__init__"}))


def _reference(name: str) -> str:
    modules = "\n\n".join(f"::: {module}" for module in _modules(name))
    return f"# fedtext.{name}\n\n{modules}\n"


def _modules(name: str) -> Iterator[str]:
    """Name the modules of a package that say something, the package itself first."""
    if (PACKAGE / f"{name}.py").is_file():
        yield f"fedtext.{name}"
        return
    for file in sorted(
        (PACKAGE / name).rglob("*.py"), key=lambda path: (path.parent, path.name != "__init__.py", path)
    ):
        if not (file.parent / "__init__.py").is_file():
            continue  # no module of a package: Flower's app, which travels as files
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
            if not file.read_text("utf-8").strip():
                continue
        yield ".".join(parts)


def _linked_outside(places: set[str]) -> set[str]:
    """Return the files outside docs/ to which the pages link, or the pages that are shown on their account."""
    found: set[str] = set()
    waiting = [place for place in places if (ROOT / place).is_file()]
    while waiting:
        place = waiting.pop()
        for link in _links((ROOT / place).read_text("utf-8")):
            target = _target(place, link)
            if target and not target.startswith("docs/") and target not in found:
                found.add(target)
                waiting += [target] if target.endswith(".md") else []
    return found


def _links(markdown: str) -> list[str]:
    found: list[str] = []
    _outside_code(markdown, lambda text: LINK.sub(lambda link: found.append(link[2]) or "", text))
    return found


def _target(place: str, link: str) -> str | None:
    """Return the file in the repository to which a link of `place` leads; None for one that is no such file."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(place), link))
    if (ROOT / path).is_dir() and (ROOT / path / "README.md").is_file():
        path += "/README.md"
    return path if (ROOT / path).is_file() and not path.startswith("..") else None


def _address(place: str) -> str:
    """Where the site has a file of the repository."""
    return place.removeprefix("docs/") if place.startswith("docs/") else f"{SHOWN}/{place}.md"


def _page_of(place: str) -> str:
    """Write the page that shows a file: a page as it is, anything else as text."""
    text = (ROOT / place).read_text("utf-8")
    if place.endswith(".md"):
        return text
    return f"# {place}\n\n````{LANGUAGES.get(Path(place).suffix, 'text')}\n{text}\n````\n"


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Change what stands outside of fenced code in a page."""
    parts = re.split(r"(^`{3,}.*?^`{3,}\s*?$)", markdown, flags=re.M | re.S)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))
