"""Resuming: the same bytes after any kill, and never a mixture of old and new."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kedro.framework.project import pipelines, settings
from kedro.runner import SequentialRunner, ThreadRunner
from safetensors.numpy import save_file

from fedtext.privacy.history import release_history
from fedtext.resuming.records import Store
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject, forget

FORK = multiprocessing.get_context("fork")
EVERYTHING = 12  # nodes with saved outputs: five at the start, three in each of two rounds, the report


def ran(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Names of the nodes that the last run ran, by the runner's messages; clears them."""
    found = [r.args[2] for r in caplog.records if r.name == "fedtext.wiring.runner" and r.msg.startswith("Node ")]
    caplog.clear()
    return found


@pytest.fixture(autouse=True)
def listen(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="fedtext.wiring.runner")


def test_a_second_run_does_nothing(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run()
    assert len(ran(caplog)) == EVERYTHING
    before = toy.files()
    toy.run()
    assert ran(caplog) == []
    assert toy.files() == before


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("changed", "first", "untouched"),
    [
        ({"toy.draws": 6}, "toy.round_01.score", {"read_private", "create_key", "release_mean", "start"}),
        ({"privacy.epsilon": 2.0}, "open_ledger", {"read_private", "create_key", "start"}),
        ({"toy.start": 5}, "start", {"read_private", "create_key", "release_mean"}),
    ],
)
def test_a_changed_parameter_rebuilds_from_the_first_affected_node(
    toy: ToyProject, caplog: pytest.LogCaptureFixture, changed: dict[str, float], first: str, untouched: set[str]
) -> None:
    nested = {key.partition(".")[0]: {key.partition(".")[2]: value} for key, value in changed.items()}
    toy.run(data_root="fresh", **nested)
    toy.run()
    ran(caplog)
    toy.run(**nested)
    again = ran(caplog)
    assert again[0] == first
    assert not untouched & set(again)
    assert toy.files() == toy.files(toy.path / "fresh")


@pytest.mark.slow
def test_one_more_round_keeps_what_does_not_depend_on_it(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run(toy={"rounds": 3}, data_root="fresh")
    toy.run()
    ran(caplog)
    toy.run(toy={"rounds": 3})
    assert ran(caplog) == [*(f"toy.round_03.{name}" for name in ("score", "train", "close")), "toy.report"]
    assert toy.files() == toy.files(toy.path / "fresh")


def test_a_deleted_output_is_made_again_and_nothing_else(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run()
    before = toy.files()
    ran(caplog)
    (toy.data / "04_rounds/toy/round_01/scores.safetensors").unlink()
    toy.run()
    assert ran(caplog) == ["toy.round_01.score"]
    assert toy.files() == before


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("file", "node"),
    [
        ("04_rounds/toy/round_01/state.json", "toy.round_01.close"),
        ("03_models/toy/round_01/weights.bin", "toy.round_01.train"),
        ("02_released/mean.safetensors", "release_mean"),
    ],
)
def test_a_changed_output_is_not_used(toy: ToyProject, caplog: pytest.LogCaptureFixture, file: str, node: str) -> None:
    toy.run()
    before = toy.files()
    ran(caplog)
    path = toy.data / file
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    stat = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # a forged time does not help
    toy.run()
    assert ran(caplog)[0] == node
    assert toy.files() == before


def test_an_output_of_another_run_is_not_used(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run()
    before = toy.files()
    ran(caplog)
    save_file({"array": np.ones(5)}, toy.data / "04_rounds/toy/round_02/scores.safetensors", {"single": "True"})
    toy.run()
    assert ran(caplog) == ["toy.round_02.score"]
    assert toy.files() == before


def test_changed_data_rebuild_all_that_read_them(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    raw = toy.path / "mine.txt"
    raw.write_text("one\ntwo\nthree\n")
    toy.run(corpus={"path": str(raw)})
    first = toy.files()
    ran(caplog)
    toy.run(corpus={"path": str(raw)})
    assert ran(caplog) == []
    raw.write_text("one\ntwo\nfour!\n")
    toy.run(corpus={"path": str(raw)})
    again = ran(caplog)
    assert again[:2] == ["read_private", "release_mean"]
    assert "create_key" not in again
    assert toy.files()["02_released/mean.safetensors"] != first["02_released/mean.safetensors"]


def test_changed_code_rebuilds_what_stands_on_it(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run()
    before = toy.files()
    ran(caplog)
    source = toy.path / "src/toy/nodes.py"
    written = source.read_text()
    source.write_text(written + "\n# a remark\n")
    forget()
    toy.run()
    assert ran(caplog) == [], "a remark changes no result"
    edited = written.replace("    units = unit_codes(", "    unused = 0\n    units = unit_codes(")
    edited = edited.replace("return new_noise_key(noise_seed)", "key = new_noise_key(noise_seed)\n    return key")
    assert edited.count("\n") == written.count("\n") + 2
    source.write_text(edited)
    forget()
    toy.run()
    again = ran(caplog)
    assert again[0] == "release_mean"
    assert "create_key" not in again, "a secret key must survive a change of code"
    assert "start" not in again, "another function of the same file"
    assert toy.files() == before


def test_the_key_survives_a_lost_record(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run(privacy={"noise_seed": None})
    key = (toy.data / "01_raw/private_key.json").read_bytes()
    (toy.data / ".fedtext/nodes/create_key.json").unlink()
    ran(caplog)
    toy.run(privacy={"noise_seed": None})
    assert ran(caplog) == []
    assert (toy.data / "01_raw/private_key.json").read_bytes() == key


def test_a_moved_data_root_stays_valid(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run()
    toy.data.rename(toy.path / "elsewhere")
    ran(caplog)
    toy.run(data_root="elsewhere")
    assert ran(caplog) == []
    assert not toy.data.exists()


@pytest.mark.slow
def test_outputs_that_nobody_saves_are_made_when_asked_for(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    result = toy.run("unsaved")
    assert result["nobody_saves"].load() == {"round": 0, "loss": 1.0}
    ran(caplog)
    toy.run("unsaved")
    assert ran(caplog) == ["start"]


@pytest.mark.slow
def test_the_key_survives_new_names_and_another_catalog_entry(
    toy: ToyProject, caplog: pytest.LogCaptureFixture
) -> None:
    toy.run(privacy={"noise_seed": None})
    key = (toy.data / "01_raw/private_key.json").read_bytes()
    for file in ("nodes.py", "pipeline_registry.py"):
        source = toy.path / "src/toy" / file
        source.write_text(source.read_text().replace("create_noise_key", "make_noise_key"))
    catalog = toy.path / "conf/base/catalog.yml"
    entry = "type: fedtext.datasets.files.PydanticJSONDataset\n  model: fedtext.privacy.noise.NoiseKey"
    assert entry in catalog.read_text()
    catalog.write_text(
        catalog.read_text().replace(entry, "type: toy.nodes.KeyDataset\n  model: fedtext.privacy.noise.NoiseKey")
    )
    forget()
    ran(caplog)
    toy.run(privacy={"noise_seed": None})
    assert "create_key" not in ran(caplog)
    assert (toy.data / "01_raw/private_key.json").read_bytes() == key
    assert len(release_history(toy.data)) == 1


def test_the_key_changes_with_its_seed(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run()
    ran(caplog)
    toy.run(privacy={"noise_seed": 8})
    assert "create_key" in ran(caplog)


def test_another_runner_does_not_release(toy: ToyProject) -> None:
    with refuses("runner-without-history", value="ThreadRunner"):
        toy.run(runner=ThreadRunner())
    assert not (toy.data / "02_released").exists()
    assert toy.run("unsaved", runner=ThreadRunner())["nobody_saves"].load() == {"round": 0, "loss": 1.0}


def test_another_runner_that_a_script_calls_itself_reads_nothing_private(toy: ToyProject) -> None:
    """As in a notebook, where `%load_ext kedro.ipython` gives both: no hook is called there."""
    with settings.SESSION_CLASS.create(project_path=toy.path) as session:
        catalog = session.load_context().catalog
        with refuses("runner-without-guard", value="SequentialRunner"):
            SequentialRunner().run(pipelines["__default__"], catalog)
        assert SequentialRunner().run(pipelines["unsaved"], catalog)["nobody_saves"].load()["round"] == 0
    assert not (toy.data / "02_released/mean.safetensors").exists()


def test_what_is_there_is_not_taken_for_this_run_s(toy: ToyProject) -> None:
    toy.run()
    changed = {"toy": {"start": 5}}
    with (
        settings.SESSION_CLASS.create(project_path=toy.path, runtime_params=changed) as session,
        refuses("only-missing-outputs", parameter="only_missing_outputs"),
    ):
        session.run(only_missing_outputs=True)


def test_async_is_kept(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run("unsaved")
    assert "Asynchronous mode is enabled" not in caplog.text
    toy.run("unsaved", runner=SequentialRunner(is_async=True))
    assert "Asynchronous mode is enabled" in caplog.text


def test_two_runs_do_not_share_a_data_root(toy: ToyProject) -> None:
    with Store.locked(toy.data), refuses("data-root-busy"):
        toy.run()


def test_a_failed_node_leaves_what_was_done(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Exception, match=r"missing\.txt"):
        toy.run(corpus={"path": "missing.txt"})
    assert "run the same command to resume" in caplog.text
    Path("missing.txt").write_text("one\ntwo\n")
    ran(caplog)
    toy.run(corpus={"path": "missing.txt"})
    assert "create_key" not in ran(caplog)


@pytest.mark.slow
def test_seconds_are_recorded_beside_the_results_and_kept_by_later_runs(toy: ToyProject) -> None:
    toy.run(toy={"seconds": 0.01})
    store = Store(toy.data)
    seconds = store.seconds()
    assert len(seconds) == EVERYTHING
    assert all(0 < spent < 600 for spent in seconds.values())
    toy.run(toy={"seconds": 0.01})
    assert store.seconds() == seconds
    (toy.data / "02_released/mean.safetensors").unlink()
    toy.run(toy={"seconds": 0.01})
    assert store.seconds()["release_mean"] != seconds["release_mean"]


@pytest.mark.slow
def test_every_release_is_remembered(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run()
    toy.run()
    (toy.data / "02_released/mean.safetensors").unlink()
    toy.run()
    assert len(release_history(toy.data)) == 1, "the same bytes again are the same release"
    assert "released private data again" not in caplog.text
    toy.run(privacy={"epsilon": 3.0})
    assert "release_mean released private data again" in caplog.text
    first, second = release_history(toy.data)
    assert (first.budget, second.budget) == (1.0, 3.0)
    assert Store(toy.data).receipts() == {second.receipt}
    toy.run()
    assert release_history(toy.data) == (first, second)
    assert Store(toy.data).receipts() == {first.receipt}, "what the results hold, and not what was released last"


PRIVATE = {"corpus": {"declared_public": False}}


def test_a_private_corpus_has_one_budget_whatever_the_runs_declare(
    toy: ToyProject, caplog: pytest.LogCaptureFixture
) -> None:
    """Four runs that differ in delta's third digit once released one sum four times, each 'epsilon 1'."""
    toy.run(**PRIVATE)
    before = toy.files()
    for delta in (1.01e-3, 1.02e-3, 1.03e-3):
        ran(caplog)
        with refuses("total-exceeded", value=1.0):
            toy.run(**PRIVATE, privacy={"delta": delta})
        assert "read_private" not in ran(caplog)
    assert len(release_history(toy.data)) == 1
    assert toy.files()["02_released/mean.safetensors"] == before["02_released/mean.safetensors"]
    toy.run(**PRIVATE, privacy={"delta": 1.01e-3, "total_epsilon": 1.6})
    assert len(release_history(toy.data)) == 2


def test_a_repeated_run_of_a_private_corpus_is_free_and_one_on_other_data_is_not(toy: ToyProject) -> None:
    lines = [f"secret-{i}" for i in range(40)]
    notes = toy.path / "notes.txt"
    notes.write_text("\n".join(lines))
    private = {"corpus": {"declared_public": False, "path": str(notes)}}
    toy.run(**private)
    (toy.data / "02_released/mean.safetensors").unlink()
    toy.run(**private)
    (toy.data / "02_released/mean.safetensors").unlink()
    kept = toy.files()
    for last in (["secret-38", "another secret"], ["secret-39", "secret-38"]):  # two people who swap have the same sum
        notes.write_text("\n".join([*lines[:-2], *last]))
        with refuses("released-of-other-data", value="toy.mean"):
            toy.run(**private)
        assert not (toy.data / "02_released/mean.safetensors").exists()
        assert len(release_history(toy.data)) == 1
    notes.write_text("\n".join(lines))
    toy.run(**private)
    assert toy.files().keys() >= kept.keys()


def test_private_files_are_their_owner_s(toy: ToyProject) -> None:
    toy.run()
    for path in toy.data.rglob("private_*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert (toy.data / "02_released/ledger.json").stat().st_mode & 0o044


def test_folders_of_private_data_and_of_what_tells_of_them_are_their_owner_s(toy: ToyProject) -> None:
    toy.run()
    modes = {folder: (toy.data / folder).stat().st_mode & 0o777 for folder in ("01_raw", ".fedtext", "08_reporting")}
    assert modes["01_raw"] == modes[".fedtext"] == 0o700
    assert modes["08_reporting"] & 0o055, "what is handed on can be read"


def test_a_folder_keeps_the_rights_that_its_owner_gave_it(toy: ToyProject) -> None:
    (toy.data / "01_raw").mkdir(parents=True, mode=0o750)
    toy.run()
    assert (toy.data / "01_raw").stat().st_mode & 0o777 == 0o750


def test_how_long_private_data_take_is_not_recorded_on_a_private_corpus(toy: ToyProject) -> None:
    toy.run(**PRIVATE)
    told = Store(toy.data).seconds()
    assert "toy.report" in told
    assert not {"read_private", "release_mean", "create_key"} & told.keys()


def run_forked(toy: ToyProject, prepare: Callable[[], None] | None = None, *, kill_after: float | None = None) -> int:
    """Exit code of a run in a forked process; -9 if it was killed."""

    def job() -> None:
        if prepare:
            prepare()
        toy.run(toy={"seconds": 0.005})

    process = FORK.Process(target=job)
    process.start()
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def interrupted_forever_after(toy: ToyProject, kills: int, seed: int) -> int:
    """Starts and kills runs at random moments, then lets one finish; returns how many died at work."""
    started = time.monotonic()
    assert run_forked(toy) == 0
    whole = time.monotonic() - started
    expected, history = toy.files(), release_history(toy.data)
    toy.data.rename(toy.path / "uninterrupted")
    moments, died = random.Random(seed), 0
    while died < kills:
        began = time.monotonic()
        code = run_forked(toy, kill_after=moments.uniform(0.05, 1.0) * whole)
        whole = min(whole, time.monotonic() - began) if code == 0 else whole  # it was quicker than when it was timed
        died += code == -signal.SIGKILL
        if code == 0 or moments.random() < 0.2:  # start anew, so that kills fall on every stage
            if code == 0:
                assert toy.files() == expected
            if toy.data.exists():
                toy.data.rename(toy.path / f"discarded{died}-{time.monotonic_ns()}")
    assert run_forked(toy) == 0
    assert toy.files() == expected
    assert release_history(toy.data) == history
    return died


def test_four_kills_at_random_moments_leave_the_same_bytes(toy: ToyProject) -> None:
    assert interrupted_forever_after(toy, kills=4, seed=0) >= 4


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_kills_at_random_moments_leave_the_same_bytes(toy: ToyProject) -> None:
    assert interrupted_forever_after(toy, kills=200, seed=1) >= 200


def dying_at_rename(number: int, moment: str) -> Callable[[], None]:
    """Kills the process just before or just after its rename of that number, counted from 1."""

    def prepare() -> None:
        replace, seen = os.replace, iter(range(1, number + 1))

        def dying(source: str, target: str) -> None:
            last = next(seen, None) == number
            if last and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            replace(source, target)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)

        os.replace = dying  # type: ignore[assignment]

    return prepare


@pytest.mark.sampled(only=("before",))
@pytest.mark.parametrize("moment", ["before", "after"])
def test_kills_at_commit_points_leave_the_same_bytes(toy: ToyProject, moment: str) -> None:
    """Dies again and again, one to four nodes further each time: at outputs, records, the release history."""
    assert run_forked(toy) == 0
    expected, history = toy.files(), release_history(toy.data)
    toy.data.rename(toy.path / "uninterrupted")
    numbers = iter([6, 7, 9, 8] * 10)
    kills = 0
    while run_forked(toy, dying_at_rename(next(numbers), moment)) == -signal.SIGKILL:
        kills += 1
    assert kills >= 3
    assert toy.files() == expected
    assert release_history(toy.data) == history


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_at_every_rename_leaves_the_same_bytes(toy: ToyProject, moment: str) -> None:
    """Every commit point in turn from a fresh start: file and directory renames, records, the release history."""
    assert run_forked(toy) == 0
    expected, history = toy.files(), release_history(toy.data)
    number = 1
    while True:
        toy.data.rename(toy.path / f"before-{number}")
        if run_forked(toy, dying_at_rename(number, moment)) == 0:
            break
        assert run_forked(toy) == 0
        assert toy.files() == expected
        assert release_history(toy.data) == history
        number += 1
    assert number > 2 * EVERYTHING


def test_signal_and_noise_are_said_once_before_private_text_is_read(
    toy: ToyProject, caplog: pytest.LogCaptureFixture
) -> None:
    toy.run()
    said = [record for record in caplog.records if " the most that they can say" in record.getMessage()]
    (line,) = said
    reads = [record for record in caplog.records if "read_private" in record.getMessage()]
    assert line.created <= reads[0].created
    caplog.clear()
    toy.run()
    assert " the most that they can say" not in caplog.text, "nothing is released anew"


def test_a_run_whose_noise_drowns_its_clients_is_warned(toy: ToyProject, caplog: pytest.LogCaptureFixture) -> None:
    toy.run(privacy={"epsilon": 0.01})
    (line,) = [record for record in caplog.records if " the most that they can say" in record.getMessage()]
    assert line.levelno == logging.WARNING
    assert "would bring it to a quarter" in line.getMessage()


PIECES = """
    from fedtext.system.finished_pieces import finished_pieces

    finished = finished_pieces("score")
    for piece in range(10):
        if finished.get(piece) is None:
            with open("made.txt", "a") as file:
                file.write(f"{piece}\\n")
            time.sleep(0.1)
            finished.keep(piece, [piece])
    return candidates @ released_mean"""


def test_kill_9_costs_the_piece_under_way_and_no_other(toy: ToyProject) -> None:
    toy.run()
    expected = toy.files()
    shutil.rmtree(toy.data)
    toy.source("nodes.py", "    time.sleep(toy.seconds)\n    return candidates @ released_mean", PIECES)
    process, made = FORK.Process(target=toy.run), toy.path / "made.txt"
    process.start()
    until = time.monotonic() + 300
    while not (made.exists() and len(made.read_text().split()) >= 4) and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.join()
    before = made.read_text().split()
    assert 4 <= len(before) < 10
    toy.run()
    assert len(made.read_text().split()) <= 2 * 10 + 1  # ten pieces in each of two rounds, and one once more
    assert toy.files() == expected
    assert not list((toy.data / ".fedtext/pieces").iterdir())


def test_pieces_of_other_inputs_are_not_used_and_removed(toy: ToyProject) -> None:
    store = Store(toy.data)
    (old := store.pieces_of("a.node", "recipe")).mkdir(parents=True)
    (old / "x.jsonl").write_text("[0, 1]\n")
    assert store.pieces_of("a.node", "recipe") == old
    assert old.exists()
    assert store.pieces_of("a.node", "another") != old
    assert not old.exists()


def test_a_node_that_reads_private_data_keeps_no_pieces(toy: ToyProject) -> None:
    before = "    units = unit_codes("
    keep = '    from fedtext.system.finished_pieces import finished_pieces\n\n    finished_pieces("x").keep(0, ["secret"])\n'
    toy.source("nodes.py", before, keep + before)
    toy.run()
    assert not list(toy.data.rglob("*.jsonl.*")) + list((toy.data / ".fedtext/pieces").rglob("*.jsonl"))
    assert all("secret" not in path.read_text() for path in (toy.data / ".fedtext").rglob("*.jsonl"))


@pytest.mark.parametrize("engine", ["processes", pytest.param("ray", marks=pytest.mark.slow)])
def test_where_pieces_are_computed_changes_no_byte_and_repeats_no_node(
    toy: ToyProject, caplog: pytest.LogCaptureFixture, engine: str
) -> None:
    pytest.importorskip("ray") if engine == "ray" else None
    toy.run()
    expected = toy.files()
    shutil.rmtree(toy.data)
    toy.run(engine={"name": engine, "workers": 2})
    assert toy.files() == expected
    caplog.clear()
    toy.run()
    assert ran(caplog) == []


@pytest.mark.parametrize(
    ("engine", "code", "parameter"),
    [
        ({"name": "threads"}, "unknown-choice", "engine.name"),
        ({"name": "processes", "workers": 0}, "unfit-value", "engine.workers"),
        ({"name": "processes", "address": "10.0.0.1:6379"}, "address-without-ray", "engine.address"),
    ],
)
def test_an_engine_that_cannot_be_is_refused_before_anything_runs(
    toy: ToyProject, engine: dict[str, Any], code: str, parameter: str
) -> None:
    with refuses(code, parameter=parameter):
        toy.run(engine=engine)
    assert not (toy.data / "03_primary").exists()
