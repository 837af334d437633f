"""Rows behind their class as the generator is asked, classes in turn, and one ledger entry for all steps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms import dp_sgd_generation as algorithm
from fedtext.models.language_model import LanguageModel
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import BudgetExceeded
from fedtext.training.client_gradients import as_unscored
from fedtext.training.local_steps import NO_TOKEN
from tests.parameters import conf_base
from tests.refusals import refuses

LABELS = ["card lost", "refund"]
TEXTS = ["I lost my card in the harbour.", "Where is it?"]


def params(**changes: object) -> DpSgdGeneration:
    return conf_base(DpSgdGeneration, {"labels": LABELS, "synthetic_texts": 30, "final_responses": 4, **changes})


def test_a_row_is_the_request_shown_then_the_text_and_its_end_scored() -> None:
    tokenizer = LanguageModel("bundled:generator").tokenizer()
    rows, _ = algorithm.training_rows(tokenizer, TEXTS, LABELS, params(), width=40)
    prompts = dict(zip(*algorithm.final_prompts(params())[["label", "prompt"]].T.to_numpy(), strict=True))
    for row, text, label in zip(rows, TEXTS, LABELS, strict=True):
        asked = tokenizer(prompts[label])["input_ids"]
        assert as_unscored(row[: len(asked)]).tolist() == asked
        scored = row[row >= 0].tolist()
        assert tokenizer.decode(scored[:-1]) == text
        assert scored[-1] == tokenizer.eos_token_id
        assert (row[len(asked) + len(scored) :] == NO_TOKEN).all()


def test_rows_are_as_wide_as_classes_and_chunks_allow_whoever_holds_what() -> None:
    model, tokenizer = LanguageModel("bundled:generator").load()
    width = algorithm.row_width(model, tokenizer, params(), 20)
    whole, _ = algorithm.training_rows(tokenizer, ["word"], LABELS[:1], params(), width=width)
    assert whole[whole >= 0][-1] == tokenizer.eos_token_id
    assert width == max(len(tokenizer(f"{label}\n\n")["input_ids"]) for label in LABELS) + 21
    with refuses("coded-row-too-long"):
        algorithm.row_width(model, tokenizer, params(), 1024)
    assert algorithm.training_rows(tokenizer, [], [], params(), width=width)[0].shape == (0, width)


@pytest.mark.parametrize("words", [1, 19, 20, 21, 99])
def test_a_text_of_any_length_is_scored_to_its_end(words: int) -> None:
    model, tokenizer = LanguageModel("bundled:generator").load()
    width = algorithm.row_width(model, tokenizer, params(), 20)
    text, short = "word" + " word" * (words - 1), "word"
    rows, number = algorithm.training_rows(tokenizer, [text, short], LABELS, params(), width=width)
    for i, one in enumerate((text, short)):
        own = rows[number == i]
        assert (own[1:, 0] == [row[row >= 0][-1] for row in own[:-1]]).all()  # behind its own last token
        predicted = [token for row in own for token in row[1:].tolist() if token >= 0]
        assert predicted == [*tokenizer(one, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]


def test_classes_take_turns_and_samples_of_others_are_left_out() -> None:
    prompts = algorithm.final_prompts(params())
    assert prompts["label"].tolist()[:4] == [*LABELS, *LABELS]
    assert prompts["prompt"].tolist()[:2] == ["card lost\n\n", "refund\n\n"]
    assert len(prompts) * 4 > 30
    labels = pd.Series(["refund", "other", None])
    assert algorithm.of_a_class(labels, params()).tolist() == [True, False, False]
    assert algorithm.of_a_class(labels, params(labels=[])).all()
    assert set(algorithm.final_prompts(params(labels=[]))["prompt"]) == {"Text\n\n"}


def test_a_label_that_nobody_declared_is_no_code() -> None:
    tokenizer = LanguageModel("bundled:generator").tokenizer()
    secret, nameless = (
        algorithm.training_rows(tokenizer, TEXTS[:1], [label], params(labels=[]), width=40)[0]
        for label in ("secret", None)
    )
    assert np.array_equal(secret, nameless)


def test_all_steps_are_one_release_within_the_budget() -> None:
    privacy = conf_base(Privacy, epsilon=2.0, delta=1e-3, noise_seed=0, noise_multiplier=2.0)
    chosen = params(training={"epochs": 1, "batch_size": 16})
    ledger = algorithm.planned_ledger(100, chosen, privacy, dim=50)
    (release,) = ledger.planned or ()
    assert (release.name, release.steps, release.rate) == ("dp_sgd_generation.gradients", 7, 0.16)
    with pytest.raises(BudgetExceeded):
        algorithm.planned_ledger(100, params(training={"epochs": 90, "batch_size": 16}), privacy, dim=50)
    with refuses("batch-above-population", parameter="dp_sgd_generation.training.batch_size", value=64):
        algorithm.planned_ledger(40, params(), privacy, dim=50)


def test_labels_are_named_once() -> None:
    with refuses("named-twice"):
        params(labels=["refund", "refund"])
