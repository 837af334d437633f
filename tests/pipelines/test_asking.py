"""The nodes that ask held-out questions, with a real encoder: exercises teach, other texts do not."""

from __future__ import annotations

import pandas as pd
import pytest

from fedtext.evaluation.tasks.questions import answer_trainer, compare_answers
from fedtext.models.encoder import load_encoder
from fedtext.params.corpus import Partition
from fedtext.params.evaluation import Evaluation
from tests.parameters import conf_base
from tests.training.test_extractive_qa import LESSONS, STEPS, exercises


def frame(count: int, seed: int) -> pd.DataFrame:
    texts = [one.text for one in exercises(count, seed)]
    return pd.DataFrame({"client_id": [f"client {i // 2}" for i in range(count)], "text": texts})


@pytest.mark.slow  # tests/training/test_extractive_qa.py sees at every commit that lessons teach
def test_exercises_teach_and_other_texts_do_not() -> None:
    encoder, held_out = load_encoder("offline"), frame(24, seed=2)
    evaluation = conf_base(Evaluation, questions={"measured": True, "fine_tuning": STEPS}, private_texts=LESSONS)
    plain = pd.DataFrame({"text": ["The ferry sailed at dusk."] * 8})
    scored = {
        "private": answer_trainer(True)(held_out, encoder, evaluation, frame(LESSONS + 20, seed=1)),
        "public_control": answer_trainer(False)(held_out, encoder, evaluation, plain),
    }
    told = compare_answers(held_out, conf_base(Partition), **scored)["conditions"]
    assert told["private"]["texts"] == LESSONS
    assert told["private"]["answer_f1"] > 0.7
    assert told["public_control"] == told["public_control"] | {"texts": 0, "answer_f1": 0, "answer_exact": 0}
