"""Made-up annotators: worths worked out by hand, choices at the stated accuracy, nobody moved by anybody else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.annotators import (
    SHARES,
    TERMS,
    Annotator,
    PreferenceProfile,
    annotators,
    choice_probability,
    mean_choice_probability,
    preferences,
    questions,
    sharpness_for,
    utility,
)
from fedtext.corpora.preferences import PAIR_COLUMNS
from tests.refusals import refuses

ASKED = "Explain what json.load does."
WORDS = st.lists(st.sampled_from(["load", "reads", "a", "file", "json"]), max_size=12).map(" ".join)


def made(pairs: int, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    """Answers of very different lengths."""
    rng = np.random.default_rng(seed)
    vocabulary = ["explain", "json", "load", *sorted(TERMS)[::4], *map(str, range(40))]

    def answer() -> str:
        return " ".join(rng.choice(vocabulary, size=rng.integers(1, 60)))

    return [ASKED] * pairs, [answer() for _ in range(pairs)], [answer() for _ in range(pairs)]


def test_worths_by_hand() -> None:
    answer = "json.load reads reads"  # 4 words, 3 of them different, 2 of the question's 5
    assert utility(ASKED, answer, PreferenceProfile.PLAIN) == pytest.approx(2 * 3 / 4 + 2 / 5 + np.log2(5 / 13))
    assert utility(ASKED, answer, PreferenceProfile.PRACTICAL) == pytest.approx(2 * 3 / 4 + 2 / 5 + np.log2(5 / 25))
    terms = "Modules, classes: a module has a class"  # 7 words, 6 of them different, 4 terms, none of the question's
    assert utility(ASKED, terms, PreferenceProfile.PRACTICAL) == pytest.approx(
        2 * 6 / 7 + np.log2(1 + 4) + np.log2(8 / 25)
    )
    assert utility(ASKED, terms, PreferenceProfile.PLAIN) == pytest.approx(2 * 6 / 7 + np.log2(8 / 13))


@pytest.mark.parametrize("taste", list(PreferenceProfile))
def test_what_says_nothing_pleases_nobody(taste: PreferenceProfile) -> None:
    """Policies are trained to please: one that learned the former rule answered with nothing, and won two in three."""
    said = "The json.load function reads a file that holds JSON, and returns a dictionary or a list."
    longer = f"{said} It takes a file that is open for reading, and raises a ValueError where the text is not valid."
    empty, name, loop = "```\n\n```", "`json.load`", "json.load " * 20
    for nothing in (empty, name, loop):
        assert utility(ASKED, nothing, taste) < min(utility(ASKED, said, taste), utility(ASKED, longer, taste))
    assert utility(ASKED, empty, taste) < min(utility(ASKED, name, taste), utility(ASKED, loop, taste))


@given(st.sampled_from(list(PreferenceProfile)), WORDS, WORDS, st.floats(0, 9))
def test_the_two_orders_of_a_pair_are_complements(
    taste: PreferenceProfile, one: str, other: str, sharpness: float
) -> None:
    there = choice_probability([ASKED], [one], [other], taste, sharpness)
    back = choice_probability([ASKED], [other], [one], taste, sharpness)
    assert float(there[0] + back[0]) == pytest.approx(1)


def test_the_groups_disagree() -> None:
    plain = "It loads json from " + " ".join("abcdefgh")
    terms = "The function takes a file as its argument and returns a dictionary or a list"
    practical = f"{terms}, {plain} {' '.join(map(str, range(32)))}"
    assert choice_probability([ASKED], [plain], [practical], PreferenceProfile.PLAIN, 1.0)[0] > 0.9
    assert choice_probability([ASKED], [plain], [practical], PreferenceProfile.PRACTICAL, 1.0)[0] < 0.1
    assert mean_choice_probability([ASKED], [plain], [practical], 1e6)[0] == pytest.approx(
        SHARES[PreferenceProfile.PLAIN]
    )


def test_no_list_of_terms_is_worth_more_than_a_sentence_with_some() -> None:
    sentence = (
        "json.load does what its name says: it is a function that reads a file, and returns a dictionary, a list, a "
        "string or whatever value the text holds."
    )
    assert utility(ASKED, " ".join(sorted(TERMS)), PreferenceProfile.PRACTICAL) < utility(
        ASKED, sentence, PreferenceProfile.PRACTICAL
    )


@pytest.mark.parametrize("accuracy", [0.7, 0.775])
def test_who_knows_the_rule_is_as_often_right_as_asked_for(accuracy: float) -> None:
    prompts, firsts, seconds = made(4000)
    sharpness = sharpness_for(prompts, firsts, seconds, accuracy)
    people = annotators(850, seed=1)
    count = people[-1].questions.stop
    rows = preferences(people, prompts[:count], list(zip(firsts, seconds, strict=True))[:count],
                       sharpness=sharpness, seed=2)  # fmt: skip
    taste = {one.client_id: one.taste for one in people}

    def right(prompt: str, chosen: str, rejected: str, like: PreferenceProfile) -> bool:
        return utility(prompt, chosen, like) > utility(prompt, rejected, like)

    held = rows.to_numpy().tolist()
    knowing = np.mean([right(asked, one, other, taste[owner]) for asked, one, other, owner in held])
    ignoring = np.mean(
        [right(asked, one, other, PreferenceProfile.PRACTICAL) for asked, one, other, _ in held]
    )  # as if there were one group
    assert knowing == pytest.approx(accuracy, abs=0.03)
    assert ignoring < accuracy - 0.05


def test_accuracies_that_no_sharpness_has_are_refused() -> None:
    prompts, firsts, _ = made(20)
    for accuracy in (0.5, 1.0):
        with refuses("accuracy-out-of-reach"):
            sharpness_for(*made(20), accuracy)
    with refuses("accuracy-out-of-reach"):
        sharpness_for(prompts, firsts, firsts, 0.7)


def test_people_are_two_to_one_and_share_no_question() -> None:
    people = annotators(3000, seed=0)
    assert np.mean([one.taste is PreferenceProfile.PRACTICAL for one in people]) == pytest.approx(2 / 3, abs=0.03)
    assert {len(one.questions) for one in people} == set(range(1, 9))
    places = [place for one in people for place in one.questions]
    assert places == list(range(len(places)))


def test_nobody_is_moved_by_anybody_else() -> None:
    people, more = annotators(20, seed=3), annotators(30, seed=3)
    assert more[:20] == people
    prompts, firsts, seconds = made(240)
    answers = list(zip(firsts, seconds, strict=True))
    whole = preferences(people, prompts, answers, sharpness=1.0, seed=3)
    without = preferences(people[:4] + people[5:], prompts, answers, sharpness=1.0, seed=3)
    assert tuple(whole.columns) == PAIR_COLUMNS
    assert whole[whole["client_id"] != people[4].client_id].reset_index(drop=True).equals(without)


def test_questions_are_distinct_and_enough() -> None:
    names = [f"mod.f{i}" for i in range(9)] * 2
    asked = questions(names, 9, seed=0)
    assert sorted(asked) == sorted({f"Explain what mod.f{i} does." for i in range(9)})
    with refuses("too-few-names", value=10):
        questions(names, 10, seed=0)


def test_too_few_people_questions_or_answers_are_refused() -> None:
    with refuses("too-few-annotators"):
        annotators(1, seed=0)
    with refuses("too-few-answers"):
        preferences(
            [Annotator("a", PreferenceProfile.PLAIN, range(3))], [ASKED] * 2, [("a", "b")] * 2, sharpness=1.0, seed=0
        )
