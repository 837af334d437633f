"""The recipe that is chosen on the training texts: what is held out, which rate and epoch are kept, and of what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel

from fedtext.evaluation import fine_tuning
from fedtext.evaluation.fine_tuning import fine_tune, fine_tune_and_count, fine_tune_each, held_out_texts
from fedtext.evaluation.next_token import PADDING, count_next_tokens, next_token_accuracy, padded, text_windows
from fedtext.evaluation.scoring import score_conditions
from fedtext.params.evaluation import Evaluation
from fedtext.params.training import TunedTraining
from fedtext.training.causal_lm import train_causal_lm
from fedtext.training.windows import Windows
from tests.evaluation.conftest import InMemory, sentence
from tests.parameters import conf_base
from tests.refusals import faults_in, refuses

LENGTH = 12
FEW = {"learning_rates": [1e-2], "epochs": 3.0, "held_out_share": 0.2, "batch_size": 4}


def tuned(**changes: Any) -> Evaluation:
    return conf_base(Evaluation, training={**FEW, **changes})


def weights(model: PreTrainedModel) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def loss_on(model: PreTrainedModel, rows: Sequence[Sequence[int]]) -> float:
    return count_next_tokens(model, rows, top=(1,)).summary()["cross_entropy"]


def texts_of(rows: Sequence[list[int]]) -> Windows:
    """Each row as a text."""
    return Windows.of(rows, LENGTH)


def split(rows: Sequence[list[int]], share: float) -> tuple[list[list[int]], list[list[int]]]:
    """Trained on, held out."""
    held = set(held_out_texts(len(rows), share).tolist())
    return [row for i, row in enumerate(rows) if i not in held], [row for i, row in enumerate(rows) if i in held]


@pytest.fixture
def rows(tokenizer) -> list[list[int]]:
    rng = np.random.default_rng(4)
    return [row[: LENGTH + 1] for row in text_windows(tokenizer, [sentence(rng, 10) for _ in range(40)], 99).rows]


@pytest.fixture
def contrary(tokenizer) -> list[list[int]]:
    """Held-out rows that say the opposite of the others: the longer the training, the worse they are predicted."""
    rows = [[1, *[5, 6] * 5] for _ in range(40)]
    for i in held_out_texts(40, 0.2):
        rows[i] = [1, *[6, 7] * 5]
    return rows


@given(st.integers(0, 400), st.floats(0, 0.499))
def test_so_many_rows_are_held_out_and_evenly_spaced(count: int, share: float) -> None:
    held = held_out_texts(count, share)
    if share == 0 or count < 10:
        assert len(held) == 0
        return
    assert len(held) == max(round(share * count), 1)
    assert 0 <= held[0] <= held[-1] < count
    gaps = np.diff(held)
    assert len(gaps) == 0 or gaps.min() >= max(gaps.max() - 1, 1)


def test_the_best_epoch_is_kept_and_not_the_last(llama, contrary) -> None:
    trained_on, held_out = split(contrary, 0.2)
    model, facts = fine_tune(llama, texts_of(contrary), tuned(epochs=8.0), seed=0, label="test")
    after: list[float] = []
    last, _ = llama.load()
    recipe = tuned(epochs=8.0).training.at(1e-2)
    train_causal_lm(
        last, padded(trained_on), recipe, seed=0, pad_token_id=PADDING,
        after_epoch=lambda _: after.append(loss_on(last, held_out)),
    )  # fmt: skip
    assert len(after) == 8
    assert after[-1] > min(after) + 0.1
    assert facts["epochs"] == 1 + int(np.argmin(after)) < 8
    assert facts["held_out_loss"] == pytest.approx(min(after), rel=1e-5)
    assert loss_on(model, held_out) == pytest.approx(facts["held_out_loss"], rel=1e-6)
    assert facts["texts"] == 40
    assert not model.training


def test_with_validation_texts_all_texts_are_trained_on_and_those_choose(llama) -> None:
    """The texts themselves are learned ever better; what they are chosen by says the opposite, so few epochs are kept."""
    own, others = [[1, *[5, 6] * 5] for _ in range(40)], [[1, *[6, 7] * 5] for _ in range(8)]
    params = tuned(epochs=8.0, held_out_share=0.0, learning_rates=[1e-2, 1e-5], chosen_on="validation")
    found = fine_tune_each(llama, {"t": texts_of(own)}, params, seed=0, validation=texts_of(others))
    model, facts = found["t"]
    assert facts["texts"] == 40
    assert facts["held_out_loss"] == pytest.approx(loss_on(model, others), rel=1e-5)
    untrained, _ = llama.load()
    assert facts["held_out_loss"] < loss_on(untrained, others) + 0.5
    last = fine_tune_each(llama, {"t": texts_of(own)}, tuned(epochs=8.0, held_out_share=0.0), seed=0)["t"][0]
    assert loss_on(last, others) > facts["held_out_loss"] + 0.1
    assert loss_on(last, own) < loss_on(model, own)


@pytest.mark.parametrize("rates", [(1e-5, 1e-2), (1e-2, 1e-5)])
def test_the_better_rate_is_kept(llama, rows, rates: tuple[float, float]) -> None:
    model, facts = fine_tune(llama, texts_of(rows), tuned(learning_rates=rates), seed=0, label="test")
    alone, expected = fine_tune(llama, texts_of(rows), tuned(learning_rates=[1e-2]), seed=0, label="test")
    poor = fine_tune(llama, texts_of(rows), tuned(learning_rates=[1e-5]), seed=0, label="test")[1]
    assert facts["learning_rate"] == 1e-2
    assert facts["held_out_loss"] == expected["held_out_loss"] < poor["held_out_loss"]
    assert torch.equal(weights(model), weights(alone))


def test_the_first_of_equal_rates_is_kept(llama, rows, monkeypatch) -> None:
    monkeypatch.setattr(fine_tuning._BestEpoch, "__call__", lambda self, epoch: _keep(self, epoch, 1.0))
    assert (
        fine_tune(llama, texts_of(rows), tuned(learning_rates=[3e-3, 1e-3]), seed=0, label="t")[1]["learning_rate"]
        == 3e-3
    )


def _keep(best: fine_tuning._BestEpoch, epoch: int, loss: float) -> None:
    best.epoch, best.loss, best.weights = epoch, loss, best.model.state_dict()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Trainings side by side have one thread of torch's each; on some processors more of them round differently."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass(frozen=True)
class Dropping(InMemory):
    """A GPT-2, which draws random numbers as it is trained."""

    def load(self) -> tuple[PreTrainedModel, Any]:
        torch.manual_seed(1)
        shape = GPT2Config(vocab_size=len(self.vocabulary), n_positions=64, n_embd=32, n_layer=1, n_head=2)
        return GPT2LMHeadModel(shape).eval(), self.vocabulary


@pytest.mark.parametrize("base", [InMemory, Dropping])
def test_the_result_is_the_same_on_any_number_of_cores(tokenizer, rows, base: type[InMemory]) -> None:
    rates = [3e-3, 1e-2, 2e-2]
    found = []
    cores = torch.get_num_threads()
    try:
        for threads in (1, 3, 3):
            torch.set_num_threads(threads)
            model, facts = fine_tune(base(tokenizer), texts_of(rows), tuned(learning_rates=rates), seed=0, label="test")
            assert torch.get_num_threads() == threads
            found.append((weights(model), {name: value for name, value in facts.items() if name != "seconds"}))
    finally:
        torch.set_num_threads(cores)
    for trained, facts in found[1:]:
        assert torch.equal(trained, found[0][0])
        assert facts == found[0][1]


def test_the_model_is_loaded_once_and_before_any_training(tokenizer, rows, monkeypatch) -> None:
    """A load may draw initial weights from the stream that trainings seed, on another thread, at any moment."""
    base, loaded_when_training = InMemory(tokenizer), []

    def noting(*given: Any, **options: Any) -> list[dict[str, float]]:
        loaded_when_training.append(len(base.loads))
        return train_causal_lm(*given, **options)

    monkeypatch.setattr(fine_tuning, "train_causal_lm", noting)
    fine_tune_each(base, {"a": texts_of(rows), "b": texts_of(rows)}, tuned(learning_rates=[1e-2, 3e-3, 1e-3]), seed=0)
    assert loaded_when_training == [1] * 6
    assert len(base.loads) == 1


def test_what_is_held_out_is_never_trained_on(llama, rows, monkeypatch) -> None:
    shown: list[list[int]] = []

    def noting(model: PreTrainedModel, matrix: np.ndarray, *given: Any, **options: Any) -> list[dict[str, float]]:
        shown.extend([token for token in row if token != PADDING] for row in matrix.tolist())
        return train_causal_lm(model, matrix, *given, **options)

    monkeypatch.setattr(fine_tuning, "train_causal_lm", noting)
    trained_on, held_out = split(rows, 0.2)
    fine_tune(llama, texts_of([*rows, [0]]), tuned(), seed=0, label="test")  # a text without a token is no text
    assert shown == trained_on
    assert len(held_out) == 8
    assert not any(row in shown for row in held_out)


def test_all_windows_of_a_held_out_text_are_held_out_and_all_others_are_trained_on(llama, monkeypatch) -> None:
    shown: list[list[int]] = []
    judged_by: list[list[int]] = []

    def noting(model: PreTrainedModel, matrix: np.ndarray, *given: Any, after_epoch: Any, **options: Any) -> Any:
        shown.extend([token for token in row if token != PADDING] for row in matrix.tolist())
        judged_by.extend(after_epoch.rows)
        return train_causal_lm(model, matrix, *given, after_epoch=after_epoch, **options)

    monkeypatch.setattr(fine_tuning, "train_causal_lm", noting)
    texts = [[1, *([5 + i % 9] * (3 * i + 1))] for i in range(20)]
    windows = Windows.of(texts, LENGTH)
    facts = fine_tune(llama, windows, tuned(held_out_share=0.2), seed=0, label="test")[1]
    held = held_out_texts(20, 0.2)
    assert facts["texts"] == 20
    assert judged_by == [row for row, text in zip(windows.rows, windows.sample, strict=True) if text in held]
    assert shown == [row for row, text in zip(windows.rows, windows.sample, strict=True) if text not in held]
    assert sum(len(row) - 1 for row in [*shown, *judged_by]) == sum(len(text) - 1 for text in texts)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("share", "texts"), [(0.0, 40), (0.4, 9)])
def test_with_nothing_held_out_it_is_the_plain_training_of_all_epochs(llama, rows, share: float, texts: int) -> None:
    params = tuned(held_out_share=share)
    model, facts = fine_tune(llama, texts_of(rows[:texts]), params, seed=3, label="test")
    plain, _ = llama.load()
    history = train_causal_lm(plain, padded(rows[:texts]), params.training.at(1e-2), seed=3, pad_token_id=PADDING)
    assert torch.equal(weights(model), weights(plain))
    assert {name: facts[name] for name in facts if name != "seconds"} == {
        "texts": texts, "learning_rate": 1e-2, "epochs": 3.0, "held_out_loss": None,
        "training_loss": history[-1]["loss"],
    }  # fmt: skip


@pytest.mark.parametrize("base", [InMemory, Dropping])
def test_a_condition_is_trained_as_if_it_were_alone(tokenizer, base: type[InMemory]) -> None:
    """To the last bit: side by side, or one after the other where the model draws dropout."""
    rng = np.random.default_rng(8)
    sizes = {"a": 25, "b": 40, "too few to hold out of": 9}
    conditions = {
        name: text_windows(tokenizer, [sentence(rng, 8) for _ in range(size)], LENGTH) for name, size in sizes.items()
    }
    params = tuned(learning_rates=[1e-2, 3e-3])
    together = fine_tune_each(base(tokenizer), conditions, params, seed=4)
    losses = set()
    for name, own in conditions.items():
        (model, facts), (beside, told) = fine_tune(base(tokenizer), own, params, seed=4, label=name), together[name]
        assert torch.equal(weights(model), weights(beside))
        assert {**facts, "seconds": 0} == {**told, "seconds": 0}
        losses.add(told["held_out_loss"])
    assert len(losses) == 3
    assert None in losses


def test_a_part_of_an_epoch_is_told_as_such(llama, rows) -> None:
    assert fine_tune(llama, texts_of(rows), tuned(epochs=0.5), seed=0, label="test")[1]["epochs"] == 0.5


def test_a_condition_says_what_was_chosen(llama) -> None:
    rng = np.random.default_rng(5)
    texts = [sentence(rng, 8) for _ in range(30)]

    def scored(**changes: Any) -> list[dict[str, np.ndarray]]:
        conditions = {"learned": texts, "untrained": []}
        return list(score_conditions(llama, conditions, texts[:5], tuned(**changes), length=LENGTH).values())

    chosen, untrained = scored(learning_rates=[1e-5, 1e-2])
    assert {name: chosen[name].shape for name in fine_tuning.CHOSEN} == dict.fromkeys(fine_tuning.CHOSEN, ())
    assert float(chosen["learning_rate"]) == 1e-2
    assert 1 <= chosen["epochs"] <= 3
    assert 0 < chosen["held_out_loss"] < 10
    whole, _ = scored(held_out_share=0.0)
    assert [name for name in fine_tuning.CHOSEN if name in whole] == ["learning_rate", "epochs"]
    assert not set(fine_tuning.CHOSEN) & set(untrained)
    assert all(value.dtype != object for one in (chosen, whole, untrained) for value in one.values())


def test_the_evaluated_texts_play_no_part_in_the_choice(llama) -> None:
    rng = np.random.default_rng(6)
    texts = [sentence(rng, 8) for _ in range(30)]
    facts = [
        fine_tune_and_count(llama, {"t": texts}, judged_by, tuned(), length=LENGTH, seed=0)["t"][1]
        for judged_by in (texts[:3], ["pattern given a match that"])
    ]
    assert [{name: one[name] for name in fine_tuning.CHOSEN} for one in facts] == [
        {name: facts[0][name] for name in fine_tuning.CHOSEN}
    ] * 2


def test_fine_tuning_learns_and_no_texts_leave_the_model_untouched(llama):
    params = conf_base(Evaluation, training={"learning_rates": [1e-2], "epochs": 6, "batch_size": 16})
    rng = np.random.default_rng(3)
    train, held_out = ([sentence(rng, 10) for _ in range(n)] for n in (120, 40))
    trained, again, untouched = (
        counts.summary() | facts
        for counts, facts in (
            fine_tune_and_count(llama, {"t": texts}, held_out, params, length=LENGTH, seed=5)["t"]
            for texts in (train, train, [])
        )
    )
    assert trained["top_1"] > untouched["top_1"] + 0.05
    assert trained["cross_entropy"] < untouched["cross_entropy"]
    assert trained["texts"] == 120
    assert trained["seconds"] > 0
    assert untouched["texts"] == 0
    model, tokenizer = llama.load()
    expected = next_token_accuracy(model, tokenizer, held_out, length=LENGTH)
    assert {key: untouched[key] for key in expected} == pytest.approx(expected)
    assert again["top_1"] == trained["top_1"]


@pytest.mark.parametrize(("said", "rates"), [("2e-3, 4e-3", (2e-3, 4e-3)), (0.004, (0.004,)), ([1, "0.5"], (1.0, 0.5))])
def test_rates_are_words_or_a_list(said: object, rates: tuple[float, ...]) -> None:
    assert conf_base(TunedTraining, learning_rates=said).learning_rates == rates


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"learning_rates": []}, "unfit-value"),
        ({"learning_rates": "1e-3 2e-3 0.001"}, "named-twice"),
        ({"learning_rates": [0.0]}, "unfit-value"),
        ({"learning_rates": [11.0]}, "unfit-value"),
        ({"learning_rates": [1e-3, 2e-3], "held_out_share": 0.0}, "rates-without-held-out-text"),
        ({"held_out_share": 0.5}, "unfit-value"),
        ({"held_out_share": -0.1}, "unfit-value"),
        ({"epochs": 0}, "unfit-value"),
        ({"learning_rate": 1e-3}, "unknown-parameter"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], code: str) -> None:
    with refuses(code) as caught:
        conf_base(TunedTraining, **changes)
    told = [fault.parameter or "" for fault in faults_in(caught.value)]
    assert any(name in parameter for name in changes for parameter in told)
