"""The privacy flow check: planted leaks are refused with node, data set and remedy; sound graphs pass."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.privacy.flow import Declared, GraphNode, Violation, check_files, check_flow

HELD_OUT = "held_out_evaluation"


def node(name: str, inputs: str = "", outputs: str = "", tags: str = "") -> GraphNode:
    return GraphNode(name, tuple(inputs.split()), tuple(outputs.split()), frozenset(tags.split()))


SOUND = [
    node("count_units", "private_train", "population", "public_count"),
    node("open_ledger", "population params:privacy", "a.ledger_open"),
    node("embed", "private_train encoder", "private_embeddings"),
    node("prompt", "public_text parameters", "prompts"),
    node("score_1", "private_embeddings prompts a.ledger_open", "a.round_01.scores a.round_01.ledger", "release"),
    node("train_1", "prompts a.round_01.scores", "a.round_01.adapter"),
    node("score_2", "private_embeddings a.round_01.adapter a.round_01.ledger", "a.scores a.ledger", "release"),
    node("choose", "a.scores a.round_01.scores", "checkpoint"),
    node("generate", "checkpoint", "synthetic"),
    node("embed_test", "private_test encoder", "private_test_embeddings"),
    node("measure", "private_test_embeddings synthetic", "scorecard", "held_out_evaluation"),
    node("average", "scorecard", "summary", "held_out_evaluation"),
    node("write_privacy_report", "a.ledger", "privacy_report"),
    node("draw_figures", "scorecard summary privacy_report", "figures", "report"),
]
RELEASED = "population scores adapter checkpoint synthetic scorecard summary privacy_report figures ledger ledger_open"
CLASSES = {
    **dict.fromkeys(("private_train", "private_test", "private_embeddings", "private_test_embeddings"), "private"),
    **dict.fromkeys(("public_text", "prompts", "encoder"), "public"),
    **{
        name: "released"
        for graph_node in SOUND
        for name in (*graph_node.inputs, *graph_node.outputs)
        if name.rpartition(".")[2] in RELEASED.split()
    },
}


def changed(name: str, **fields: object) -> list[GraphNode]:
    """The sound graph with one node changed."""
    assert any(one.name == name for one in SOUND)
    return [replace(one, **fields) if one.name == name else one for one in SOUND]


def found(nodes: list[GraphNode], classes: dict[str, str] | None = None, **shown: Any) -> list[Violation]:
    return check_flow(nodes, CLASSES | (classes or {}), **shown)


def rules(violations: list[Violation]) -> set[tuple[str, str, str]]:
    return {(one.rule, one.node, one.dataset) for one in violations}


def test_a_sound_graph_passes_in_any_order() -> None:
    assert found(SOUND) == []
    assert found(SOUND[::-1]) == []


def test_the_unaccounted_checkpoint_of_the_paper_passes_when_the_ledger_says_so() -> None:
    declared = node("choose", "private_test_embeddings a.ledger", "checkpoint a.ledger_final", "release")
    nodes = [replace(one, inputs=("a.ledger_final",)) if one.name == "write_privacy_report" else one for one in SOUND]
    nodes = [declared if one.name == "choose" else one for one in nodes]
    assert found(nodes, {"a.ledger_final": "released"}) == []


LEAKS = {
    "a metric on private text that steers": (
        [*changed("choose", inputs=("a.scores", "fid")), node("fid_of", "private_test_embeddings synthetic", "fid")],
        {"fid": "released", "synthetic": "released"},
        ("leak", "fid_of", "fid"),
    ),
    "an exact count": (
        [*SOUND, node("count_texts", "private_train", "n_texts")],
        {"n_texts": "public"},
        ("leak", "count_texts", "n_texts"),
    ),
    "an exact count behind the name of the permitted one": (
        [*SOUND, node("count_labels", "private_train", "population_by_label", "public_count")],
        {"population_by_label": "released"},
        ("leak", "count_labels", "population_by_label"),
    ),
    "an unclassed data set": (
        [*SOUND, node("cache", "public_text", "scratch")],
        {},
        ("unclassed", "", "scratch"),
    ),
    "an unclassed data set that is written from private text": (
        [*SOUND, node("cache", "private_train", "scratch")],
        {},
        ("leak", "cache", "scratch"),
    ),
    "a class that is none": ([*SOUND], {"prompts": "internal"}, ("unclassed", "", "prompts")),
    "a release that hands no ledger on": (
        changed("score_2", outputs=("a.scores",)),
        {},
        ("release without ledger", "score_2", "private_embeddings"),
    ),
    "a release that takes no ledger in": (
        changed("score_2", inputs=("private_embeddings", "a.round_01.adapter")),
        {},
        ("release without ledger", "score_2", "private_embeddings"),
    ),
    "a release that is not declared": (
        changed("score_1", tags=frozenset()),
        {},
        ("leak", "score_1", "a.round_01.scores"),
    ),
    "a release called public": (
        SOUND,
        {"a.round_01.scores": "public"},
        ("leak", "score_1", "a.round_01.scores"),
    ),
    "two releases on one ledger, of which one charge is lost": (
        changed("score_2", inputs=("private_embeddings", "a.round_01.adapter", "a.ledger_open")),
        {},
        ("forked ledger", "score_2", "a.ledger_open"),
    ),
    "private text under a public name": (
        [*SOUND, node("copy", "private_train", "train_text")],
        {"train_text": "public"},
        ("leak", "copy", "train_text"),
    ),
    "a private name classed public": (
        SOUND,
        {"private_train": "public"},
        ("misnamed", "", "private_train"),
    ),
    "a private name classed public is still followed": (
        [*SOUND, node("copy", "a.private_notes", "notes")],
        {"a.private_notes": "public", "notes": "public"},
        ("leak", "copy", "notes"),
    ),
    "a held-out metric that chooses the checkpoint": (
        changed("choose", inputs=("a.scores", "scorecard")),
        {},
        ("steers", "choose", "scorecard"),
    ),
    "a held-out metric that comes back through the report": (
        changed("choose", inputs=("a.scores", "figures")),
        {},
        ("steers", "choose", "figures"),
    ),
    "a held-out metric of a metric": (
        changed("choose", inputs=("a.scores", "summary")),
        {},
        ("steers", "choose", "summary"),
    ),
    "a held-out metric that a release listens to": (
        changed("score_2", inputs=("private_embeddings", "scorecard", "a.round_01.adapter", "a.round_01.ledger")),
        {},
        ("steers", "score_2", "scorecard"),
    ),
    "a held-out metric called public": (SOUND, {"scorecard": "public"}, ("leak", "measure", "scorecard")),
    "private text as a metric of the experiment tracker": (
        [*SOUND, node("log", "private_train", "mlflow.longest_text")],
        {"mlflow.longest_text": "released"},
        ("leak", "log", "mlflow.longest_text"),
    ),
    "private text laundered through a public intermediate": (
        [*SOUND, node("tidy", "private_train", "tidy_text"), node("publish", "tidy_text", "corpus")],
        {"tidy_text": "public", "corpus": "public"},
        ("leak", "publish", "corpus"),
    ),
    "private text laundered three times": (
        [
            *SOUND,
            node("tidy", "private_train", "tidy_text"),
            node("cut", "tidy_text", "chunks"),
            node("sort", "chunks", "sorted_chunks"),
            node("publish", "sorted_chunks", "corpus"),
        ],
        dict.fromkeys(("tidy_text", "chunks", "sorted_chunks", "corpus"), "public"),
        ("leak", "publish", "corpus"),
    ),
    "a held-out metric that comes back through three reports": (
        [
            *changed("choose", inputs=("a.scores", "site")),
            node("write_page", "figures", "page", "report"),
            node("write_site", "page", "site", "report"),
        ],
        {"page": "released", "site": "released"},
        ("steers", "choose", "site"),
    ),
    "private text read by the report": (
        changed("draw_figures", inputs=("scorecard", "private_test")),
        {},
        ("leak", "draw_figures", "figures"),
    ),
    "an upper bound that is not declared one": (
        [*SOUND, node("bound", "private_train", "private_bound"), node("compare", "private_bound", "gap", HELD_OUT)],
        {"gap": "released"},
        ("not held out", "compare", "private_bound"),
    ),
    "protected text dumped by what calls itself a held-out evaluation": (
        [*SOUND, node("dump", "private_train", "corpus", HELD_OUT)],
        {"corpus": "released"},
        ("not held out", "dump", "private_train"),
    ),
    "protected text among the held-out text that an evaluation reads": (
        [
            *SOUND,
            node("mix", "private_train private_test", "private_mix"),
            node("show", "private_mix", "shown", HELD_OUT),
        ],
        {"shown": "released"},
        ("not held out", "show", "private_mix"),
    ),
    "the noise key read by an evaluation": (
        [*SOUND, node("draw_key", "params:privacy", "private_key"), node("show", "private_key", "shown", HELD_OUT)],
        {"shown": "released"},
        ("not held out", "show", "private_key"),
    ),
    "a node that reads private text and writes nothing": (
        [*SOUND, node("send", "private_train")],
        {},
        ("leak", "send", "private_train"),
    ),
    "a report of the ledger before the last charge": (
        changed("write_privacy_report", inputs=("a.round_01.ledger",)),
        {},
        ("lost charge", "write_privacy_report", "a.round_01.ledger"),
    ),
    "a report of the ledger before any charge": (
        changed("write_privacy_report", inputs=("a.ledger_open",)),
        {},
        ("lost charge", "score_2", "a.ledger"),
    ),
    "a second ledger whose charge nobody reads": (
        [
            *SOUND,
            node("open_again", "population", "b.ledger_open"),
            node("score_3", "private_embeddings b.ledger_open", "b.scores b.ledger", "release"),
        ],
        dict.fromkeys(("b.ledger_open", "b.scores", "b.ledger"), "released"),
        ("lost charge", "score_3", "b.ledger"),
    ),
    "text under the name of a ledger": (
        changed("score_2", outputs=("a.scores", "a.ledger", "a.ledger_texts")),
        {"a.ledger_texts": "public"},
        ("release without ledger", "score_2", "private_embeddings"),
    ),
    "a release that calls itself a report too": (
        changed("score_2", tags=frozenset({"release", "report"})),
        {},
        ("two roles", "score_2", "a.scores"),
    ),
    "an evaluation that calls itself a count too": (
        changed("measure", tags=frozenset({HELD_OUT, "public_count"})),
        {},
        ("two roles", "measure", "scorecard"),
    ),
    "text bound to a function": (
        changed("prompt", bound=("a DataFrame ('texts')",)),
        {},
        ("bound", "prompt", "prompts"),
    ),
    "training text called held out, in a namespace": (
        [
            *SOUND,
            node("rename", "private_train", "b.private_test"),
            node("show", "b.private_test", "shown", HELD_OUT),
        ],
        {"shown": "released"},
        ("not held out", "show", "b.private_test"),
    ),
    "training text called held out by a second node": (
        [
            *SOUND,
            node("split", "private_records", "private_train private_validation", "splits_clients"),
            node("again", "private_train", "private_test", "splits_clients"),
        ],
        {},
        ("held-out name", "again", "private_test"),
    ),
    "training text called held out without the tag": (
        [*SOUND, node("again", "private_train", "private_validation")],
        {},
        ("held-out name", "again", "private_validation"),
    ),
    "one transcoded name for the writer, another for the reader": (
        [*SOUND, node("store", "private_train", "cache@pandas"), node("publish", "cache@polars", "corpus")],
        {"cache@pandas": "private", "cache@polars": "released", "corpus": "released"},
        ("leak", "publish", "corpus"),
    ),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_refused(leak) -> None:
    nodes, classes, expected = LEAKS[leak]
    violations = found(nodes, classes)
    assert expected in rules(violations)
    for one in violations:
        assert f"'{one.dataset}'" in str(one)
        assert f"'{one.node}'" in str(one) or not one.node
    assert found(nodes[::-1], classes), "the order of the nodes must not matter"


@pytest.mark.parametrize("shown", ["previewed", "logged"])
def test_showing_a_private_data_set_is_refused(shown) -> None:
    violations = found(SOUND, **{shown: {"private_train", "synthetic"}})
    assert rules(violations) == {("shown", "", "private_train")}
    assert {"previewed": "Kedro-Viz", "logged": "experiment tracker"}[shown] in str(violations[0])


def test_a_remedy_is_always_named() -> None:
    for nodes, classes, _ in LEAKS.values():
        for one in found(nodes, classes):
            said = re.split(r"[:;.] ", str(one))  # what is wrong; what to do
            first_words = {part.split()[0].lower() for part in said[1:]}
            assert first_words & {"set", "class", "remove", "read", "give", "return", "hand"}, str(one)


def test_a_declared_upper_bound_may_be_compared_with() -> None:
    bound = node("train_on_private_text", "private_train private_test", "private_counts", "unprotected_control")
    assert found([*SOUND, bound, node("compare", "private_counts", "gap", HELD_OUT)], {"gap": "released"}) == []
    published = node("publish", "private_counts", "gap")
    assert rules(found([*SOUND, bound, published], {"gap": "released"})) == {("leak", "publish", "gap")}


def test_private_by_name_needs_no_class() -> None:
    assert check_flow([node("split", "private_a", "b.private_c")], {}) == []


GRAPHS = st.lists(
    st.tuples(st.lists(st.integers(0, 7), min_size=1, max_size=3), st.integers(0, 7)), min_size=1, max_size=8
)


@settings(max_examples=300)
@given(edges=GRAPHS, classed=st.lists(st.sampled_from(["private", "released", "public"]), min_size=8, max_size=8))
def test_without_tags_nothing_private_is_ever_reachable(edges, classed) -> None:
    """A graph passes exactly if no data set that descends from a private one is classed otherwise."""
    nodes, written = [], set()
    for i, (inputs, output) in enumerate(edges):
        if output not in written and all(j < output for j in inputs):
            written.add(output)
            nodes.append(node(f"n{i}", " ".join(f"d{j}" for j in sorted(set(inputs))), f"d{output}"))
    classes = {f"d{j}": classed[j] for j in range(8)}
    tainted = {name for name, kind in classes.items() if kind == "private"}
    for _ in nodes:
        tainted |= {name for one in nodes if tainted & set(one.inputs) for name in one.outputs}
    leaked = {name for one in nodes for name in one.outputs if name in tainted and classes[name] != "private"}
    assert {one.dataset for one in check_flow(nodes, classes)} == leaked


def test_the_split_alone_makes_held_out_text() -> None:
    split = node("split", "private_records", "private_train private_validation private_test", "splits_clients")
    assert found([*SOUND, split]) == []
    pairs = node("split_pairs", "pairs.private_records", "pairs.private_train pairs.private_test", "splits_clients")
    assert found([*SOUND, split, pairs]) == []
    again = node("again", "pairs.private_train", "pairs.private_test", "splits_clients")
    assert ("held-out name", "again", "pairs.private_test") in rules(found([*SOUND, split, pairs, again]))


def test_private_units_are_counted_where_the_corpus_is_public_and_nowhere_else() -> None:
    refused = check_flow(SOUND, CLASSES, declared=Declared(public_corpus=False))
    assert rules(refused) == {("counted", "count_units", "population")}
    assert "privacy.population" in str(refused[0])


EXACT = Declared(public_corpus=False, exact_figures=True, private_control=False)
PRICED = Declared(public_corpus=False, exact_figures=False, private_control=True)
DECLARED_UNITS = [node("declare", "params:privacy", "population"), *SOUND[1:]]


def test_exact_figures_of_private_held_out_text_leave_where_somebody_asked_for_them_and_nowhere_else() -> None:
    assert found(DECLARED_UNITS, declared=EXACT) == []
    (refused,) = found(DECLARED_UNITS, declared=PRICED)
    assert rules([refused]) == {("unpriced", "measure", "scorecard")}
    for named in ("'measure'", "'private_test_embeddings'", "'scorecard'", "'release'", "evaluation.dp=false"):
        assert named in str(refused)
    kept = node("keep", "private_test", "private_card", HELD_OUT)
    assert found([*DECLARED_UNITS, kept], declared=EXACT) == []
    assert {one.node for one in found([*DECLARED_UNITS, kept], declared=PRICED)} == {"measure"}, "nothing leaves"


@pytest.mark.parametrize("source", ["private_test", "private_validation", "pairs.private_test", "private_rows"])
def test_whatever_an_evaluation_counts_of_private_held_out_text_needs_a_release(source: str) -> None:
    """Their number, that of their clients, their lengths: a new node may give out none of it by its tag alone."""
    derived = node("cut", "private_test", "private_rows")
    counts = node("count_rows", f"{source} params:evaluation", "rows", HELD_OUT)
    nodes = [*DECLARED_UNITS[:-1], derived, counts]
    assert ("unpriced", "count_rows", "rows") in rules(found(nodes, {"rows": "released"}, declared=PRICED))
    assert found(nodes, {"rows": "released"}, declared=EXACT) == []
    released = node("average_released", "a.scores", "mean", HELD_OUT)
    assert found([*DECLARED_UNITS, released], {"mean": "released"}, declared=EXACT) == []
    only = found([*DECLARED_UNITS, released], {"mean": "released"}, declared=PRICED)
    assert "average_released" not in {one.node for one in only}, "what was released is paid for"


def test_a_control_reads_a_private_corpus_where_somebody_asked_for_it_and_nowhere_else() -> None:
    bound = node("train_on_private_text", "private_train private_test", "private_counts", "unprotected_control")
    (refused,) = found([*DECLARED_UNITS, bound], declared=EXACT)
    assert rules([refused]) == {("control", "train_on_private_text", "private_train")}
    assert "evaluation.private_control=true" in str(refused)
    asked = Declared(public_corpus=False)
    compared = node("compare", "private_counts", "gap", HELD_OUT)
    assert found([*DECLARED_UNITS, bound, compared], {"gap": "released"}, declared=asked) == []
    only_control = found([*DECLARED_UNITS, bound, compared], {"gap": "released"}, declared=PRICED)
    assert ("unpriced", "compare", "gap") in rules(only_control), "the control is no permission for exact figures"


def test_what_one_pipeline_evaluates_may_not_have_another_maker_that_reads_protected_text() -> None:
    harmless = node("embed_again", "private_test", "private_x")
    compared = node("compare", "private_x", "gap", HELD_OUT)
    assert found([*SOUND, harmless, compared], {"gap": "released"}) == []
    other = node("embed_train", "private_train", "private_x")
    for makers in ([harmless, other], [other, harmless]):
        violations = found([*SOUND, *makers, compared], {"gap": "released"})
        assert rules(violations) == {("not held out", "compare", "private_x")}


PLACES = {
    "private_train": "/data/03/private_train.parquet",
    "synthetic": "/data/07/synthetic.parquet",
    "params:corpus.path": "/home/me/notes.csv",
    "params:corpus.public_path": "/home/me/public.csv",
}
FILE_CLASSES = {"private_train": "private", "synthetic": "released", "params:corpus.path": "private"}
MISPLACED = {
    "two entries on one file": ({"summary": "/data/07/synthetic.parquet"}, "released", "shared file"),
    "a private file under a public entry": ({"summary": "/data/03/private_train.parquet"}, "public", "misplaced"),
    "a parameter's private file under a public entry": ({"summary": "/home/me/notes.csv"}, "public", "shared file"),
    "a folder of private files under a public entry": ({"summary": "/data/03"}, "public", "nested file"),
    "a public file in a private folder": ({"summary": "/data/03/private_train.parquet/x"}, "public", "nested file"),
    "a private file among the reports": ({"summary": "/data/08_reporting/private_x.json"}, "private", "misplaced"),
    "a private file by the texts": ({"summary": "/data/07_model_output/pe/private_x.json"}, "private", "misplaced"),
    "a private file that does not say so": ({"summary": "/data/03/x.json"}, "private", "misplaced"),
    "a released file that says it is private": ({"summary": "/data/07/private_x.json"}, "released", "misplaced"),
}


def placed(**places: str) -> dict[str, PurePosixPath]:
    return {name: PurePosixPath(place) for name, place in {**PLACES, **places}.items()}


def test_one_file_one_entry_one_class() -> None:
    assert check_files(placed(), FILE_CLASSES) == []
    assert check_files(placed(**{"synthetic@pandas": PLACES["synthetic"]}), FILE_CLASSES) == []
    assert check_files(placed(**{"params:old": "/home/me/public.csv"}), FILE_CLASSES) == []
    copied = check_files(placed(**{"params:corpus.public_path": "/home/me/notes.csv"}), FILE_CLASSES)
    assert rules(copied) == {("shared file", "", "params:corpus.public_path")}


@pytest.mark.parametrize("fault", MISPLACED)
def test_a_misplaced_file_is_refused(fault: str) -> None:
    places, kind, rule = MISPLACED[fault]
    refused = check_files(placed(**places), FILE_CLASSES | {"summary": kind})
    assert rule in {one.rule for one in refused}
    for one in refused:
        assert f"'{one.dataset}'" in str(one)
        assert re.search(r": (give|class) ", str(one))
