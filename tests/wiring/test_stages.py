"""Stages: their order is an order of the graph, each is said once, and the time that is left is what is known of it."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import pytest
from kedro.pipeline import Node, Pipeline, node

from fedtext.privacy.tags import Tag
from fedtext.system.duration import duration
from fedtext.wiring.console import LOG_FILE, echo, logged_to_file
from fedtext.wiring.stages import Clock, Stage, in_order, stages


def made(name: str, reads: str | list[str] | None, namespace: str | None = None, tags: Tag | None = None) -> Node:
    short = name.rpartition(".")[2]
    return node(lambda *_: 0, reads, name, name=short, namespace=namespace, tags=tags)


JOB = Pipeline(
    [
        made("texts", "file"),
        made("opened", "params:privacy", "popri", Tag.BUDGET),
        made("start", ["texts", "opened"], "popri"),
        made("popri.round_01.written", "start", "popri.round_01"),
        made("popri.round_02.written", "popri.round_01.written", "popri.round_02"),
        made("popri.closing.written", "popri.round_02.written", "popri.closing"),
        made("popri.final", "popri.closing.written", "popri"),
        made("control", "texts", "evaluation"),
        made("judged", ["control", "popri.final"], "evaluation.popri"),
        made("page", "opened", "report.popri"),
    ]
)


def clock(pipeline: Pipeline = JOB, **earlier: float) -> Clock:
    return Clock(in_order(pipeline), stages(pipeline), earlier)


def test_stages_follow_each_other_and_refusals_precede_all() -> None:
    names = [each.name for each in in_order(JOB)]
    assert names[0] == "popri.opened"
    assert names[-3:] == ["evaluation.control", "evaluation.popri.judged", "report.popri.page"]
    assert stages(JOB)["popri.final"] == stages(JOB)["popri.closing.written"] > stages(JOB)["popri.round_02.written"]


def test_a_node_waits_for_what_it_reads_whatever_its_name_says() -> None:
    late = Pipeline([*JOB.nodes, made("after", "judged")])
    assert stages(late)["after"] == Stage(2)
    order = in_order(late)
    makers = {output: place for place, each in enumerate(order) for output in each.outputs}
    assert all(makers.get(name, -1) < place for place, each in enumerate(order) for name in each.inputs)


def test_every_stage_is_said_once() -> None:
    found = clock()
    said = [line for each in found.nodes if (line := found.begin(each)) is not None]
    assert said == [
        "[ 1/10] texts and clients",
        "[ 3/10] popri: start",
        "[ 4/10] popri: round 1 of 2",
        "[ 5/10] popri: round 2 of 2",
        "[ 6/10] popri: final texts",
        "[ 8/10] evaluation",
        "[10/10] report",
    ]


def test_a_run_without_an_algorithm_announces_every_node() -> None:
    """As `pretrain` does: it has no clients."""
    found = clock(Pipeline([made("read_text", "file"), made("train_generator", "read_text")]))
    said = [line for each in found.nodes if (line := found.begin(each)) is not None]
    assert said == ["[1/2] read text", "[2/2] train generator"]


def test_an_algorithm_that_goes_on_with_another_one_s_rounds_comes_after_them() -> None:
    """As `pe_sft` does: it has no rounds of its own, and its nodes are of no round."""
    job = Pipeline(
        [
            made("popri.round_01.written", "file", "popri.round_01"),
            made("popri.round_02.written", "popri.round_01.written", "popri.round_02"),
            made("tuned.chosen", ["popri.round_01.written", "popri.round_02.written"], "tuned"),
            made("tuned.trained", "tuned.chosen", "tuned"),
        ]
    )
    found = clock(job)
    said = [line for each in found.nodes if (line := found.begin(each)) is not None]
    assert said == ["[1/4] popri: round 1 of 2", "[2/4] popri: round 2 of 2", "[3/4] tuned: final texts"]


def test_a_round_that_ran_tells_how_long_the_next_ones_take() -> None:
    found = clock()
    for each in found.nodes[:4]:
        found.begin(each)
        found.end(each, 30.0)
    line = found.begin(found.nodes[4])
    assert line == "[ 5/10] popri: round 2 of 2, more than 60 s left"  # and as much after the last round


def test_all_is_known_of_what_ran_before_and_what_is_up_to_date_takes_no_time() -> None:
    earlier = {each.name: 100.0 for each in JOB.nodes}
    found = clock(**earlier)
    assert found.begin(found.nodes[7]) == "[ 8/10] evaluation, about 3 min left"  # the page reads nothing that changed


@pytest.mark.parametrize(("seconds", "words"), [(4.2, "4 s"), (99, "99 s"), (150, "2 min"), (9000, "2.5 h")])
def test_durations_claim_no_more_than_is_known(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_file_has_everything_and_is_its_owner_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("fedtext"), "level", logging.INFO)
    with logged_to_file(tmp_path):
        echo("a stage")
        logging.getLogger("somebody.else").warning("a library's warning")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(True)
            warnings.warn("a warning of Python", stacklevel=1)
    echo("after the run")
    written = (tmp_path / LOG_FILE).read_text()
    assert all(words in written for words in ("a stage", "a library's warning", "a warning of Python"))
    assert "after the run" not in written
    assert (tmp_path / LOG_FILE).stat().st_mode & 0o077 == 0
