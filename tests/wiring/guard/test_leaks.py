"""The leaks of docs/leaks.md, each with its outcome: refused by the flow check or the guard, not told, or not seen."""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kedro.io import DataCatalog
from kedro.pipeline import node

from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard import Guard
from tests.parameters import conf_base
from tests.privacy.test_flow import LEAKS, found, rules
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject, toy  # noqa: F401 - a fixture
from tests.wiring.guard.planted import FURTHER, RUN
from tests.wiring.guard.planted_by_a_tester import BY_A_TESTER

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs/leaks.md"
PLANTED, IN_A_TABLE = RUN | BY_A_TESTER, FURTHER | BY_A_TESTER
LEDGER = Ledger(declaration=conf_base(Privacy, epsilon=2.0, delta=1e-5), population=100)
ASKED = Release(name="mean", round=1, mechanism="gaussian", sensitivity=1.0, noise_stddev=4.0)


class StandIn:
    """Looks like a ledger to whoever only asks for what it has."""

    releases, unaccounted, declaration, population = (), (), LEDGER.declaration, 100


def _mean(private_texts: np.ndarray) -> np.ndarray:
    return private_texts.mean(axis=0)


def keeps_its_ledger(private_texts: np.ndarray, ledger: Ledger) -> tuple[np.ndarray, Ledger]:
    return _mean(private_texts), ledger


def fabricates(private_texts: np.ndarray, ledger: Ledger) -> tuple[np.ndarray, Ledger]:
    return _mean(private_texts), ledger.charge(ASKED.model_copy(update={"sensitivity": 1e-9}))


def stands_in(private_texts: np.ndarray, ledger: Ledger) -> tuple[np.ndarray, Any]:
    return _mean(private_texts), StandIn()


def gives_the_key(private_texts: np.ndarray, ledger: Ledger) -> tuple[NoiseKey, Ledger]:
    return new_noise_key(7), ledger.charge(ASKED)


RELEASES = {
    "a release that returns its ledger unchanged": (keeps_its_ledger, (), "nothing-released"),
    "a fabricated Release of sensitivity 1e-9": (fabricates, (), "wrongly-charged"),
    "a release that charges a cheaper one than the door": (fabricates, (ASKED,), "wrongly-charged"),
    "a stand-in ledger": (stands_in, (), "not-one-ledger"),
    "the noise key through a release": (gives_the_key, (ASKED,), "releases-no-numbers"),
}


@pytest.mark.parametrize("leak", RELEASES)
def test_a_release_is_what_the_doors_say_it_is(leak: str, tmp_path: Path) -> None:
    function, passed, code = RELEASES[leak]
    catalog = DataCatalog.from_config({"{default}": {"type": "MemoryDataset"}})
    guarded = Guard(catalog, tmp_path, {}, passed=lambda: passed).around(
        node(function, ["private_texts", "ledger"], ["shown", "ledger_out"], name="release", tags="release")
    )
    with refuses(code, value="release"):
        guarded.run({"private_texts": np.ones((5, 2)), "ledger": LEDGER})


@pytest.fixture
def no_workers() -> Iterator[None]:
    """Ends the workers that a planted module has started."""
    yield
    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()


@pytest.mark.sampled(every=5)
@pytest.mark.usefixtures("no_workers")
@pytest.mark.parametrize("leak", PLANTED)
def test_a_planted_leak_is_refused_or_not_told(
    leak: str,
    toy: ToyProject,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    planted = PLANTED[leak]
    if planted.needs is not None:
        pytest.importorskip(planted.needs)
    planted.plant(toy)
    caplog.set_level("INFO")
    if "interrupt" in leak:
        with pytest.raises(SystemExit):
            toy.run("planted", **planted.params)
    elif planted.refused is None:
        toy.run("planted", **planted.params)
    else:
        with pytest.raises(RunRefusedError, check=planted.refused.is_it):
            toy.run("other" if "another pipeline" in leak else "planted", **planted.params)
    assert (told(toy) == []) == planted.seen
    said = capfd.readouterr()
    assert "secret-" not in said.out + said.err + caplog.text
    if "printing" in leak:
        assert "messages of node 'tell' are not shown, because it reads private data" in caplog.text


def told(toy: ToyProject) -> list[Path]:
    """Files of the project that hold private text and are not private, and folders and files that are named by it."""
    ours = [path for path in toy.path.rglob("*") if path.name not in ("notes.txt", "nodes.py")]
    return [
        path
        for path in ours
        if "secret-" in path.name
        or path.name == "shown.parquet"
        or (
            path.is_file()
            and not path.name.startswith("private_")
            and b"secret-" in path.read_bytes()
            and path.suffix not in (".py", ".pyc")
        )
    ]


CHECKED = (
    "a metric on private text that steers",
    "an exact count",
    "an unclassed data set that is written from private text",
    "a release that is not declared",
    "a release called public",
    "private text under a public name",
    "a private name classed public",
    "a held-out metric that chooses the checkpoint",
    "private text as a metric of the experiment tracker",
    "private text laundered through a public intermediate",
    "protected text dumped by what calls itself a held-out evaluation",
    "a node that reads private text and writes nothing",
)


@pytest.mark.parametrize("leak", CHECKED)
def test_the_twelve_that_the_graph_always_showed_are_refused(leak: str) -> None:
    nodes, classes, expected = LEAKS[leak]
    assert expected in rules(found(nodes, classes))


def test_an_exit_handler_writes_nothing_when_the_process_ends(toy: ToyProject) -> None:
    RUN["an exit handler"].plant(toy)
    code = (
        "from kedro.framework.project import settings\n"
        "from kedro.framework.startup import bootstrap_project\n"
        f"bootstrap_project({str(toy.path)!r})\n"
        f"with settings.SESSION_CLASS.create(project_path={str(toy.path)!r}) as session:\n"
        "    session.run(pipeline_names=['planted'])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=toy.path, capture_output=True, text=True, check=True)
    assert "node 'leak' writes copy.txt itself while it reads private data" in ended.stderr
    assert "secret-" not in ended.stdout + ended.stderr
    assert not (toy.path / "copy.txt").exists()


# Rows of the page whose leak is planted in another file: what holds it, and the test.
ELSEWHERE = {
    "exact figures of private held-out text from a new evaluation": (
        "privacy/test_flow.py",
        "test_whatever_an_evaluation_counts_of_private_held_out_text_needs_a_release",
    ),
    "a control on a private corpus that nobody asked for": (
        "privacy/test_flow.py",
        "test_a_control_reads_a_private_corpus_where_somebody_asked_for_it_and_nowhere_else",
    ),
    "a second run that promises less than the first": (
        "wiring/test_unit_identity_whose.py",
        "test_eight_under_replace_one_and_then_six_under_zero_out_are_refused",
    ),
    "one file in two data roots": (
        "wiring/test_unit_identity_whose.py",
        "test_the_same_people_in_a_second_data_root_have_spent_their_budget",
    ),
    "a history that was emptied": (
        "wiring/test_unit_identity_whose.py",
        "test_an_emptied_history_is_refused_and_a_removed_one_counts",
    ),
    "two runs that ask at once for what is left once": (
        "privacy/test_data_set_budget.py",
        "test_of_two_gates_that_ask_at_the_same_time_for_what_is_left_once_one_gets_it",
    ),
    "one person under two spellings of an id": (
        "corpora/test_clients.py",
        "test_what_looks_alike_is_one_client_two_or_refused",
    ),
}


def test_the_page_has_a_row_for_every_leak_with_its_outcome() -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|", DOCS.read_text(), flags=re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, len(rows) + 1))
    outcomes = {leak.strip(): outcome.strip() for _, leak, outcome in rows}
    assert {*outcomes.values()} <= {"refused", "silenced", "not seen", "seen and said"}
    for leak, planted in IN_A_TABLE.items():
        expected = {"refused"} if planted.refused else {"silenced", "refused"} if planted.seen else {"not seen"}
        assert outcomes[leak] in expected, leak
    for leak, (file, test) in ELSEWHERE.items():
        assert leak in outcomes
        assert f"def {test}(" in (Path(__file__).parents[2] / file).read_text(), leak
    assert len(rows) == 31 + len(IN_A_TABLE) + len(ELSEWHERE)
    unseen = [leak for leak, outcome in outcomes.items() if outcome == "not seen"]
    for page in ("README.md", "CHANGELOG.md"):
        assert f"{len(rows)} planted leaks" in (ROOT / page).read_text()
    assert f"{len(unseen)} are not seen" in (ROOT / "README.md").read_text()
