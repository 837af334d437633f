"""Train an extractive QA model on one condition's texts and answer the questions of held-out text.

A text is used, on both sides, if it is an exercise (`corpora.exercises`): a question, its answer and a passage. The
model sees question and passage of a held-out exercise. Its answer is scored by exact match and F1, as in SQuAD
(Rajpurkar et al., EMNLP 2016, section 6.1).

Answers are compared after normalisation: lower case, no punctuation, none of the words a, an and the, one space between
words.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from fedtext.corpora.exercises import Exercise, exercise_in
from fedtext.evaluation.measures.downstream import ASKED, EXACT, F1, QUESTIONS
from fedtext.evaluation.measures.measure import Scored
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.ratios import as_share
from fedtext.params.evaluation import Questions
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.training.extractive_qa import train_extractive_qa

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder


ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """Return the normalised answer: `us` for `The  U.S.`."""
    return " ".join(ARTICLES.sub(" ", answer.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, reference: str) -> float:
    """Return 1 where both are equal after normalisation, else 0."""
    return float(normalised(answer) == normalised(reference))


def f1(answer: str, reference: str) -> float:
    """Compute the harmonic mean of precision and recall of the words, counted with multiplicity.

    An answer without a word means "there is no answer"; it is right if the reference has none either.
    """
    given, wanted = normalised(answer).split(), normalised(reference).split()
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))


def exercises_in(texts: Sequence[str], most: int | None, *, seed: int) -> list[Exercise]:
    """Return the exercises among texts, in their order; a random sample of `most` if there are more."""
    found = [one for one in map(exercise_in, texts) if one is not None]
    if most is None or len(found) <= most:
        return found
    chosen = stream(seed, "exercises").choice(len(found), most, replace=False)
    return [found[i] for i in np.sort(chosen)]


def question_scores(
    exercises: Sequence[Exercise],
    held_out: Sequence[str],
    encoder: Encoder,
    questions: Questions,
    *,
    seed: int,
    label: str,
) -> dict[str, np.ndarray]:
    """Train a QA model on exercises and score its answers to held-out questions.

    Without training exercises no question is answered.

    Returns:
        `asked` (1 where a text is an exercise), `answer_f1` and `answer_exact` of each held-out text; the number of
        training `texts`.

    Raises:
        ValueError: no held-out text is an exercise.
    """
    found = [exercise_in(text) for text in held_out]
    asked = [one for one in found if one is not None]
    if not asked:
        raise InputError(
            "no held-out text is an exercise ('Passage: ... Question: ... Answer: ...' whose "
            "passage holds the answer): read some (corpus.source=squad_questions, chunking.first_only=true, a larger "
            "chunking.length), or leave questions out (evaluation.questions.measured=false)",
            code="no-exercise-held-out",
            parameter="evaluation.questions.measured",
            value=True,
        )
    given = [""] * len(asked)
    if exercises:
        given = train_extractive_qa(encoder, exercises, questions, seed=seed, label=label).answers(asked)
    place = np.asarray([one is not None for one in found])
    return {
        ASKED: place.astype(np.int64),
        F1: _of_each(place, [f1(answer, one.answer) for answer, one in zip(given, asked, strict=True)]),
        EXACT: _of_each(place, [exact_match(answer, one.answer) for answer, one in zip(given, asked, strict=True)]),
        "texts": np.asarray(len(exercises)),
    }


def compare_questions(scored: Mapping[str, Scored], drawn: Int[np.ndarray, " text"]) -> dict[str, Any]:
    """Return the document of `paired.compare_scored` for F1 and exact match; ends of intervals are shares."""
    document = compare_scored(scored, QUESTIONS, drawn)
    for own in document["conditions"].values():
        own |= {end: as_share(own[end]) for end in ("low", "high")}
    return document


def _of_each(place: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """Return the values at their places, 0 elsewhere."""
    spread = np.zeros(len(place))
    spread[place] = values
    return spread
