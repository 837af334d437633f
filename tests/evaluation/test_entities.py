"""Entities: who is where, strict F1 by hand and by nervaluate, and that better lessons find more, by either head."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.public import stdlib_records
from fedtext.evaluation.entities import EntitySpan, compare_entities, entity_scores, entity_spans, token_codes
from fedtext.evaluation.measures.downstream import ENTITIES_GIVEN, ENTITIES_RIGHT, ENTITIES_TRUE, ENTITY_F1
from fedtext.evaluation.measures.known import measure
from fedtext.models.encoder import Encoder, load_encoder
from fedtext.models.rule_tagger import RuleTagger
from fedtext.models.tagger import Entity, tokens_of
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Entities, EntityHead
from tests.parameters import conf_base
from tests.refusals import refuses

KINDS = ("day", "place")
DAY, PLACE = 0, 1
FAST = {"epochs": 3.0, "batch_size": 8, "learning_rate": 5e-4}


def test_tokens_of_an_entity_have_its_kind_and_the_first_begins_it() -> None:
    text = "in New York (today)"
    codes = token_codes(text, [Entity(3, 11, "place"), Entity(13, 18, "day")], KINDS)
    assert codes.tolist() == [0, 3, 4, 0, 1, 0]
    assert token_codes("Yorkshire", [Entity(0, 4, "place")], KINDS).tolist() == [3]  # a token that it reaches into
    assert token_codes("a b", [Entity(0, 1, "day"), Entity(2, 3, "day")], KINDS).tolist() == [1, 1]  # two, side by side


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), max_size=8))
def test_codes_say_the_entities_that_made_them(laid: list[tuple[int, int]]) -> None:
    """Stretches of 1 to 3 tokens side by side: of kind 0, of kind 1, or outside (2)."""
    codes: list[int] = []
    expected = []
    for kind, length in laid:
        if kind == 2:
            codes += [0] * length
        else:
            expected.append(EntitySpan(len(codes), len(codes) + length - 1, kind))
            codes += [1 + 2 * kind, *[2 + 2 * kind] * (length - 1)]
    assert entity_spans(np.asarray(codes, dtype=np.int64)) == expected


def test_what_goes_on_without_a_beginning_is_an_entity_too() -> None:
    assert entity_spans(np.asarray([2, 0, 1, 4])) == [
        EntitySpan(0, 0, DAY),
        EntitySpan(2, 2, DAY),
        EntitySpan(3, 3, PLACE),
    ]


# Two texts: day found, place with a wrong end; place found, day of another kind, one place made up.
SCORED = {
    ENTITIES_RIGHT: np.asarray([[1, 0], [0, 1]]),
    ENTITIES_TRUE: np.asarray([[1, 1], [1, 1]]),
    ENTITIES_GIVEN: np.asarray([[1, 1], [0, 3]]),
}


def test_strict_f1_is_that_of_a_calculation_by_hand() -> None:
    assert ENTITY_F1.ratio(SCORED).estimate == pytest.approx((2 * 1 / (2 + 1) + 2 * 1 / (2 + 4)) / 2)
    assert measure("entity_f1") is ENTITY_F1


def test_a_kind_that_held_out_text_has_not_is_not_judged() -> None:
    wide = {name: np.column_stack([counts, [0, 0]]) for name, counts in SCORED.items()}
    wide[ENTITIES_GIVEN][0, 2] = 5
    assert ENTITY_F1.ratio(wide) == ENTITY_F1.ratio(SCORED)
    with refuses("no-entity-held-out"):
        ENTITY_F1.ratio({**SCORED, ENTITIES_TRUE: np.zeros((2, 2), dtype=int)})


def test_it_is_nervaluate_s_strict_f1_over_kinds() -> None:
    nervaluate = pytest.importorskip("nervaluate")
    rng = np.random.default_rng(0)
    tags = ["O", "B-day", "I-day", "B-place", "I-place"]
    true, given_ = ([rng.choice(5, 12, p=[0.4, 0.2, 0.1, 0.2, 0.1]) for _ in range(30)] for _ in range(2))
    given_ = [np.where(rng.random(12) < 0.7, t, g) for t, g in zip(true, given_, strict=True)]
    told = [[[tags[code] for code in row] for row in rows] for rows in (true, given_)]
    found = nervaluate.Evaluator(*told, tags=list(KINDS), loader="list").evaluate()["entities"]
    theirs = np.mean([found[kind]["strict"].f1 for kind in KINDS])
    pairs = [(set(entity_spans(t)), set(entity_spans(g))) for t, g in zip(true, given_, strict=True)]

    def count(rows: list[set[EntitySpan]]) -> np.ndarray:
        return np.asarray([np.bincount([one.kind for one in row], minlength=2) for row in rows])

    ours = ENTITY_F1.ratio(
        {
            ENTITIES_RIGHT: count([t & g for t, g in pairs]),
            ENTITIES_TRUE: count([t for t, _ in pairs]),
            ENTITIES_GIVEN: count([g for _, g in pairs]),
        }
    )
    assert ours.estimate == pytest.approx(theirs)


def texts(count: int, seed: int, *, numbers: bool = True) -> list[str]:
    rng = np.random.default_rng(seed)
    what = [str(rng.integers(1, 9999)) if numbers else "some" for _ in range(count)]
    return [
        f"please send {n} cards to {rng.choice(['London', 'Paris', 'Rome'])} on {rng.choice(['Monday', 'Friday'])}"
        for n in what
    ]


@cache
def encoder() -> Encoder:
    return load_encoder("offline", device="cpu")


def scores(
    lessons: list[str], held_out: list[str], head: EntityHead = "logistic", **more: Any
) -> dict[str, np.ndarray]:
    entities = conf_base(Entities, head=head, fine_tuning=FAST)
    return entity_scores(lessons, held_out, RuleTagger(), encoder(), entities, **{"seed": 1, "label": "test"} | more)


def test_better_lessons_find_more_and_none_find_nothing() -> None:
    held_out, tagger = texts(60, 1), RuleTagger()
    scored = {
        "public_control": scores(["nothing to be seen here"] * 20, held_out),
        "synthetic": scores(texts(40, 2, numbers=False), held_out),
        "private": scores(texts(40, 3), held_out),
    }
    document = compare_entities(scored, tagger.kinds, "logistic", np.arange(60))
    value = {name: one["entity_f1"] for name, one in document["conditions"].items()}
    assert value["public_control"] == 0.0
    assert value["private"] > 0.95 > value["synthetic"] > 0.5
    assert document["judged"] == "synthetic"
    assert json.loads(json.dumps(document)) == document
    assert document["conditions"]["private"]["texts"] == 40


@pytest.mark.parametrize("head", ["logistic", "fine_tuned"])
def test_lessons_of_one_code_or_none_find_it_alone(head: EntityHead) -> None:
    for lessons in ([], [""], ["nothing to be seen here"] * 3):
        assert scores(lessons, texts(3, 0), head)[ENTITIES_GIVEN].sum() == 0
    numbers = RuleTagger().kinds.index("number")
    found = scores(["7", "2024"], ["some 12"], head)
    assert found[ENTITIES_GIVEN].sum(axis=0)[numbers] == 2
    assert found[ENTITIES_RIGHT].sum(axis=0)[numbers] == 1


@cache
def docstrings(kind: str) -> list[str]:
    """Docstrings of the standard library, up to 14 tokens long, that have entities, and all of this kind."""
    every = stdlib_records(conf_base(Corpus))["text"].tolist()
    short = [text for text in every if len(tokens_of(text)) <= 14]
    found = RuleTagger().entities(short)
    return [text for text, own in zip(short, found, strict=True) if {one.kind for one in own} == {kind}]


@pytest.mark.parametrize(("taught", "least", "most"), [("identifier", 0.3, 1.0), ("name", 0.0, 0.1)])
def test_a_fine_tuned_head_learns_what_real_texts_hold_and_nothing_else(taught: str, least: float, most: float) -> None:
    held_out, lessons = docstrings("identifier")[:40], docstrings(taught)[-48:]
    assert not {*held_out} & {*lessons}
    found = ENTITY_F1.ratio(scores(lessons, held_out, "fine_tuned")).estimate
    assert least <= found <= most
