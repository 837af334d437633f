"""The scores on labelled passages: exact on passages made up here, and at least 98% on the real pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.label_scores import (
    Passage,
    digest,
    raw_words,
    read_abstract_labels,
    read_labels,
    score,
    score_abstracts,
    words_of,
)
from fedtext.largefedbench.raw_pages import RawPage
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base
from tests.refusals import refuses

LABELS = Path(__file__).with_name("labels")


def labelled(raw: Path, part: str, left_out: tuple[tuple[int, int], ...]) -> Passage:
    words = raw_words(RawPage("ca/HAN096-E.XML.xml", raw / "ca/HAN096-E.XML.xml"), part, "ca").words
    return Passage("ca/HAN096-E.XML.xml", part, len(words), digest(words), left_out, ((0, "Mr. Paul Lee"),))


def test_scores_of_a_right_and_of_a_wrong_label(raw: Path) -> None:
    # not his: "Madam Speaker," | "An hon. member: Not true." and his label after it | "The Speaker: Order."
    right = labelled(raw, "102", ((0, 2), (9, 17), (27, 30)))
    exact = score([right], raw, "ca", conf_base(LargeFedBench))
    assert (exact.expected, exact.kept, exact.right, exact.rightly_named) == (17, 17, 17, 17)
    assert (exact.speeches, exact.precision(), exact.recall()) == (1, 1.0, 1.0)
    all_of_it = score([labelled(raw, "102", ())], raw, "ca", conf_base(LargeFedBench))
    assert (all_of_it.precision(), all_of_it.recall()) == (1.0, 17 / 30)
    wrong = score([labelled(raw, "102", ((0, 9),))], raw, "ca", conf_base(LargeFedBench))
    assert wrong.precision() == 10 / 17


def test_a_page_that_changed_is_refused(raw: Path) -> None:
    label = labelled(raw, "102", ())._replace(sha256="0" * 16)
    with refuses("labelled-words-changed"):
        score([label], raw, "ca", conf_base(LargeFedBench))


def test_the_labels_hold_positions_and_no_text() -> None:
    for path in [LABELS / f"{source}.json" for source in ("us", "uk", "ca")]:
        for one in json.loads(path.read_text("utf-8")):
            assert set(one) == {"page", "part", "words", "sha256", "left_out", "speakers"}
            assert all(len(words_of(name)) <= 8 for _, name in one["speakers"])
            assert all(0 <= first < last <= one["words"] for first, last in one["left_out"])

    for one in json.loads((LABELS / "biorxiv.json").read_text("utf-8")):
        assert set(one) == {"page", "part", "characters", "sha256", "left_out"}
        assert all(0 <= first < last <= one["characters"] for first, last in one["left_out"])


@pytest.mark.shared
def test_of_abstracts_the_words_are_kept_and_the_headings_are_not(shared: Path) -> None:
    found = score_abstracts(read_abstract_labels(LABELS / "biorxiv.json"), shared)
    assert found.passages >= 60
    assert found.precision() >= 0.9995
    assert found.recall() >= 0.9995


@pytest.mark.shared
def test_an_abstract_that_changed_is_refused(shared: Path) -> None:
    (label, *_) = read_abstract_labels(LABELS / "biorxiv.json")
    with refuses("labelled-abstract-changed"):
        score_abstracts([label._replace(sha256="0" * 16)], shared)


@pytest.mark.sampled(every=3)
@pytest.mark.shared
@pytest.mark.parametrize("source", ["us", "uk", "ca"])
def test_what_was_said_is_kept_and_nothing_else(shared: Path, source: str) -> None:
    found = score(read_labels(LABELS / f"{source}.json"), shared, source, conf_base(LargeFedBench))
    assert found.passages >= 170
    assert found.speeches >= 90
    assert found.recall() >= 0.9995
    assert found.precision() >= (0.99 if source == "us" else 0.9995)
    assert found.rightly_named / found.named >= 0.99
