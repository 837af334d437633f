"""What the pages say exists: links, commands, paths, functions; and lines that fit a screen."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from audits.page import BEFORE, FAULTY, SOUND
from fedtext.pipeline_registry import algorithms
from fedtext.wiring.config import ProjectConfigLoader, active_parameters
from tests.contracts.test_pipelines import registered

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "fedtext"
GENERATED = set((ROOT / "docs" / "reports").glob("*.md"))  # a program chose their lines
PAGES = sorted(
    {
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
        *(ROOT / name / "README.md" for name in ("conf", "data")),
        *(ROOT / "docs").rglob("*.md"),
    }
)
WIDTH, SIZE = 100, 20_000  # characters, bytes
CODE = re.compile(r"`([^`\n]+)`")
WHOLE = re.compile(r"fedtext(\.[A-Za-z_]\w*)+")
PARAMETER = re.compile(r"([a-z_]+(?:\.[a-z_0-9]+)+)(?:=.*|: .*)?")  # "popri.rounds", "popri.rounds=3"
PATH = re.compile(r"(src|tests|benchmarks|audits|conf|docs|notebooks)/[\w./*-]+")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def lines(page: Path, *, fenced: bool = False) -> Iterator[str]:
    """The lines outside of fenced code, or those inside."""
    inside = False
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside == fenced:
            yield line


def prose(page: Path) -> str:
    return "\n".join(lines(page))


def in_code(page: Path) -> list[str]:
    """What stands between single backticks."""
    return CODE.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives a page's headings."""
    headings = [line.lstrip("#").strip().lower() for line in lines(page) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def commands(page: Path) -> list[str]:
    """Every `kedro run` of a page, joined where a backslash continues it, without comments."""
    blocks = "\n".join(
        [*lines(page, fenced=True), *(line.strip() for line in lines(page) if line.startswith("    kedro"))]
    )
    whole = re.sub(r"\\\n\s*", "", blocks).splitlines() + in_code(page)
    return [line.strip() for line in whole if line.strip().startswith("kedro run")]


@cache
def known() -> tuple[frozenset[str], dict[str, object]]:
    """Pipelines, and parameters with the globals, as conf/base has them."""
    pipelines = frozenset(registered())
    loader = ProjectConfigLoader.active
    assert loader is not None
    return pipelines, {**loader["globals"], **active_parameters()}


def has(tree: object, path: list[str]) -> bool:
    """Whether a parameter is there."""
    for name in path:
        if not isinstance(tree, dict) or name not in tree:
            return False
        tree = tree[name]
    return True


def faults(command: str) -> list[str]:
    """What a `kedro run` names that is not there."""
    pipelines, parameters = known()
    words = shlex.split(command, comments=True)[2:]
    found = []
    for option, value in pairwise([*words, ""]):
        if option in {"--pipelines", "--pipeline"} and value.isidentifier():
            found += [name for name in value.split(",") if name not in pipelines]
        elif option == "--env" and not (ROOT / "conf" / value).is_dir():
            found.append(value)
        elif option == "--params":
            names = [part.partition("=")[0] for part in value.split(",") if "=" in part]
            found += [name for name in names if not has(parameters, name.split("."))]
    return found


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        led = (page.parent / name).resolve() if name else page
        # A folder is led to by its README: the site shows files, and ends where a link leads to none.
        assert led.is_file() or (led / "README.md").is_file(), target
        assert not anchor or anchor in anchors(led), target


@every_page
def test_commands_name_what_exists(page: Path) -> None:
    said = [command.replace("--pipelines toy ", "") for command in commands(page)]  # the tutorial's algorithm
    assert {command: faults(command) for command in said if faults(command)} == {}


@every_page
def test_parameters_exist(page: Path) -> None:
    """What begins with a group of parameters is a parameter, or lies in one that is free to fill."""
    parameters = known()[1]
    named = {found[1] for text in in_code(page) if (found := PARAMETER.fullmatch(text))}
    ours = {name for name in named if isinstance(parameters.get(name.partition(".")[0]), dict)}
    missing = {name for name in ours if not has(parameters, name.split(".")) and not is_elsewhere(name, page)}
    assert {name for name in missing if not is_free(parameters, name.split("."))} == set()


def is_free(tree: object, path: list[str]) -> bool:
    """Whether a parameter on the way is null, so that it may be a group."""
    while path and isinstance(tree, dict) and path[0] in tree:
        tree, path = tree[path[0]], path[1:]
    return tree is None


def is_elsewhere(name: str, page: Path) -> bool:
    """Whether a name with dots is of the code, a file's, of the past, or made by the page's own code."""
    former = page.is_relative_to(ROOT / "docs" / "decisions") or page.name == "CHANGELOG.md"
    made = name.rpartition(".")[2] in "\n".join(lines(page, fenced=True))
    return former or made or page.parent.name == "experiments" or defined(name) or Path(name).suffix in SUFFIXES


SUFFIXES = {".csv", ".html", ".json", ".jsonl", ".md", ".parquet", ".py", ".yml"}
SCRIPTS = ("python -m benchmarks.", "python -m fedtext", "python -m audits", "python -m tests.", "python benchmarks/")


def module(name: str) -> Path | None:
    """The file that `python -m NAME` runs; None if there is none."""
    place = (ROOT / "src" if name.partition(".")[0] == "fedtext" else ROOT).joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__main__.py")
    return next((file for file in files if file.exists()), None)


def strange(line: str) -> list[str]:
    """What another command of a page names that is not there: a make target, a script, one of its options."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    words = shlex.split(line, comments=True)
    if words[:1] == ["make"]:
        return [word for word in words[1:] if word not in targets]
    if words[:2] == ["python", "-m"]:
        script = module(words[2])
        if script is None:
            return [words[2]]
        text = script.read_text("utf-8")
        return [word for word in words[3:] if word.startswith("--") and f'"{word}"' not in text]
    return words[1:2]  # a script of its own: the root, from which benchmarks import, is not on its path


@every_page
def test_scripts_and_targets_exist(page: Path) -> None:
    lines_of_code = [line.strip() for line in [*lines(page, fenced=True), *in_code(page)]]
    said = [line for line in lines_of_code if line.startswith(("make ", *SCRIPTS))]
    assert {line: strange(line) for line in said if strange(line)} == {}


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("make tea", ["tea"]),
        ("make test  # all of it", []),
        ("python -m benchmarks.no_such", ["benchmarks.no_such"]),
        ("python -m fedtext.privacy.published", ["fedtext.privacy.published"]),
        ("python -m fedtext run", []),
        ("python -m benchmarks.recovery --seed 5", ["--seed"]),
        ("python -m benchmarks.recovery --seeds 5", []),
        ("python benchmarks/recovery.py --seeds 5", ["benchmarks/recovery.py"]),
    ],
)
def test_a_script_that_is_not_there_is_seen(line: str, missing: list[str]) -> None:
    assert strange(line) == missing


@every_page
def test_paths_exist(page: Path) -> None:
    """But for a path that stands alone on its line: that is a file which a tutorial makes."""
    made = set(re.findall(r"^`([^`\n]+)`$", prose(page), re.M))
    named = {text for text in in_code(page) if PATH.fullmatch(text)} - made
    assert [text for text in sorted(named) if not list(ROOT.glob(text.rstrip("/")))] == []


def defined(name: str) -> bool:
    """Whether a dotted name below the package is a module, or a name that its longest module's text defines."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        place = PACKAGE.joinpath(*parts[:end])
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if file.exists():
            text = file.read_text("utf-8")
            return all(re.search(rf"\b(def|class) {part}\b|^\s*{part}\b.*[:=]", text, re.M) for part in parts[end:])
    return False


@every_page
def test_full_names_of_the_package_exist(page: Path) -> None:
    named = {text for text in in_code(page) if WHOLE.fullmatch(text)}
    assert [text for text in sorted(named) if not defined(text.removeprefix("fedtext."))] == []


def test_the_papers_pages_name_functions_that_exist() -> None:
    rooms = "|".join(sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()))
    named = {
        text
        for page in (ROOT / "docs" / "papers").glob("*.md")
        for text in in_code(page)
        if re.fullmatch(rf"({rooms})(\.\w+)+", text) and not has(known()[1], text.split("."))
    }
    assert len(named) > 30
    assert [text for text in sorted(named) if not defined(text)] == []


@pytest.mark.parametrize(
    "name", ["algorithms.popri.no_such_function", "privacy.ledger.Ledger.no_such", "nowhere.at_all"]
)
def test_a_name_that_is_nowhere_is_seen(name: str) -> None:
    assert not defined(name)
    assert defined("privacy.ledger.Ledger.spent")


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("kedro run --pipelines popry", ["popry"]),
        ("kedro run --env laptop", ["laptop"]),
        ("kedro run --params popri.round=3,privacy.epsilon=1", ["popri.round"]),
        ("kedro run --env tiny --params data_root=DIR,corpus.source=table", []),
    ],
)
def test_a_command_that_would_fail_is_seen(command: str, missing: list[str]) -> None:
    assert faults(command) == missing


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in GENERATED], ids=lambda p: str(p.relative_to(ROOT))
)
def test_lines_fit(page: Path) -> None:
    """Prose only: a table's row and a line of code cannot be wrapped, nor can one long word."""
    long = [line for line in lines(page) if len(line) > WIDTH and not line.startswith(("|", "    ", "#"))]
    assert [line for line in long if re.search(r"\S\s+\S", line.strip().lstrip("->*[0123456789. "))] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in GENERATED], ids=lambda p: str(p.relative_to(ROOT))
)
def test_a_page_can_be_finished(page: Path) -> None:
    assert page.name == "CHANGELOG.md" or page.stat().st_size < SIZE


def test_environments_are_told_apart() -> None:
    """conf/README.md has a row for every folder of conf."""
    folders = {path.name for path in (ROOT / "conf").iterdir() if path.is_dir() and not path.name.startswith(".")}
    page = prose(ROOT / "conf" / "README.md")
    assert {name for name in folders if f"| `{name}` |" not in page} == set()
    assert all(yaml.safe_load(path.read_text("utf-8")) is not None for path in (ROOT / "conf" / "base").rglob("*.yml"))


def test_the_audits_page_has_the_words_that_its_program_writes() -> None:
    page = (ROOT / "docs" / "audits.md").read_text("utf-8")
    assert all(part in page for part in (SOUND, FAULTY, BEFORE))


def test_the_index_of_decisions_is_whole() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    assert [page.name for page in folder.glob("0*.md") if f"]({page.name})" not in index] == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = set(re.findall(r"[\w/]+\.md", navigation))
    whole = set(re.findall(r"([\w/]+)/\*", navigation))
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    assert len(named) > 50
    assert [str(page) for page in pages if str(page) not in named and str(page.parent) not in whole] == []


def test_decisions_have_one_form() -> None:
    for page in (ROOT / "docs" / "decisions").glob("0*.md"):
        headings = [line for line in lines(page) if line.startswith("## ")]
        assert headings == ["## Status", "## Context", "## Decision", "## Consequences"], page.name


def test_the_algorithms_page_has_those_that_are_registered() -> None:
    """Each has its command, but for POPri, whose job is the default."""
    page = (ROOT / "docs" / "algorithms.md").read_text("utf-8")
    commands = re.search(r"```bash\n(.*?)```", page, re.S)
    assert commands is not None
    assert set(re.findall(r"^kedro run --pipelines (\w+)", commands[1], re.M)) == set(algorithms()) - {"popri"}


def test_the_privacy_pages_python_gives_the_numbers_beside_it() -> None:
    pages = [page.read_text("utf-8") for page in sorted((ROOT / "docs" / "privacy").glob("*.md"))]
    blocks = re.findall(r"```python\n(.*?)```", "\n".join(pages), re.S)
    names: dict[str, object] = {}
    compared = 0
    for block in blocks:
        said = block.splitlines()
        for statement in ast.parse(block).body:
            code = ast.unparse(statement)
            number = re.search(r"# ([\d.]+)", said[(statement.end_lineno or 1) - 1])
            if isinstance(statement, ast.Expr) and number:
                digits = len(number[1].partition(".")[2])
                assert eval(code, names) == pytest.approx(float(number[1]), abs=0.6 * 10**-digits), code
                compared += 1
            else:
                exec(code, names)
    assert compared >= 4
