from __future__ import annotations

import hashlib
import tempfile
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file

from fedtext.params.training import WHOLE_SCHEDULE, AdapterTraining, Lora, SchedulePart
from fedtext.training import dpo, lora
from fedtext.training.dpo import loss_terms, train_preferences
from fedtext.training.preference_pairs import tokenised
from tests.parameters import conf_base
from tests.refusals import refuses

pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing")  # TRL and PEFT themselves

PARAMS = conf_base(AdapterTraining, epochs=2, batch_size=4, learning_rate=1e-2, beta=0.5, lora={"rank": 4, "alpha": 8})


@pytest.fixture(autouse=True)
def full_precision(monkeypatch):
    monkeypatch.setattr(lora, "is_bfloat16_faster", lambda device: False)
    monkeypatch.setenv("FEDTEXT_PROGRESS", "0")


def saved(adapter, path):
    adapter.save_pretrained(path)
    return path


def digest(path):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in path.iterdir()}


def log_probs(model, rows, side):
    """Summed completion log-probabilities, one plain forward per row."""
    sums = []
    for row in rows:
        ids = torch.tensor([row["prompt_ids"] + row[side]])
        with torch.no_grad():
            scores = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])
        sums.append(float(scores[len(row["prompt_ids"]) - 1 :].sum()))
    return np.array(sums)


def test_training_raises_the_margin_on_both_architectures(llama, gpt2, pairs):
    for base in (llama, gpt2):
        _, history = train_preferences(base, pairs, PARAMS.model_copy(update={"epochs": 8}), seed=0)
        assert len(history) == 8 * 3
        assert history[-1]["margin"] > history[0]["margin"] + 0.5
        assert history[-1]["loss"] < history[0]["loss"] - 0.2
        assert np.mean([h["accuracy"] for h in history[-3:]]) > 0.9


def test_all_weights_are_trained_against_the_model_as_it_was(llama, pairs, tmp_path):
    params = PARAMS.model_copy(update={"lora": None, "learning_rate": 1e-3, "epochs": 4})
    trained, history = train_preferences(llama, pairs, params, seed=0)
    assert history[0]["loss"] == pytest.approx(np.log(2), abs=1e-5)
    assert history[-1]["margin"] > history[0]["margin"] + 0.5
    base, tokenizer = llama.load()
    assert set(trained.weights) == {name for name, _ in base.named_parameters()}
    policy, _ = llama.load()
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            weight.copy_(trained.weights[name])
    rows = tokenised(pairs, tokenizer)
    gained = [log_probs(policy, rows, side) - log_probs(base, rows, side) for side in ("chosen_ids", "rejected_ids")]
    assert np.mean(gained[0] - gained[1]) > 1.0


def test_a_fresh_adapter_starts_at_the_reference(llama, pairs):
    _, history = train_preferences(llama, pairs, PARAMS, seed=0)
    assert history[0]["loss"] == pytest.approx(np.log(2), abs=1e-5)
    assert history[0]["chosen_reward"] == pytest.approx(0, abs=1e-4)
    assert set(history[0]) == {"step", *dpo.HISTORY.values(), "dropped_pairs"}


def test_lora_b_moves_and_only_adapter_default_is_kept(llama, pairs):
    adapter, _ = train_preferences(llama, pairs, PARAMS, seed=0)
    moved = {name: float(w.abs().max()) for name, w in adapter.weights.items() if "lora_B" in name}
    assert len(moved) == 2 * 6  # layers x (q, k, v, o, up, down)
    assert min(moved.values()) > 1e-4
    assert not [name for name in adapter.weights if "ref" in name or "default" in name]


def test_the_reference_is_the_base_model_in_every_round(llama, pairs, tmp_path):
    """Not the previous round's policy: with `previous`, the first rewards are the previous adapter's own."""
    first, _ = train_preferences(llama, pairs, PARAMS, seed=0)
    previous = saved(first, tmp_path / "first")
    everything = PARAMS.model_copy(update={"batch_size": 10, "epochs": 1})
    _, history = train_preferences(llama, pairs, everything, previous=previous, seed=1)
    base, tokenizer = llama.load()
    policy = PeftModel.from_pretrained(llama.load()[0], str(previous))
    rows = tokenised(pairs, tokenizer)
    for side in ("chosen", "rejected"):
        before, after = (log_probs(model, rows, f"{side}_ids") for model in (base, policy))
        assert history[0][f"{side}_log_prob"] == pytest.approx(after.mean(), abs=1e-3)
        assert history[0][f"{side}_reward"] == pytest.approx(PARAMS.beta * (after - before).mean(), abs=1e-3)
    assert abs(history[0]["margin"]) > 0.1


@pytest.mark.slow
def test_equal_inputs_give_equal_bytes_and_another_seed_others(llama, pairs, tmp_path):
    params = PARAMS.model_copy(update={"lora": conf_base(Lora, dropout=0.1)})
    runs = [
        saved(train_preferences(llama, pairs, params, seed=s)[0], tmp_path / str(i)) for i, s in enumerate((7, 7, 8))
    ]
    assert digest(runs[0]) == digest(runs[1])
    assert digest(runs[0])["adapter_model.safetensors"] != digest(runs[2])["adapter_model.safetensors"]
    continued = [
        saved(train_preferences(llama, pairs, params, previous=runs[0], seed=2**62 + 1)[0], tmp_path / f"on{i}")
        for i in range(2)
    ]
    assert digest(continued[0]) == digest(continued[1])


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("final", [0.0, 3e-3])
def test_the_rate_falls_as_transformers_has_it(final: float) -> None:
    from transformers.optimization import get_cosine_with_min_lr_schedule_with_warmup

    params = PARAMS.model_copy(update={"final_rate": final})
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=params.learning_rate)
    schedule = get_cosine_with_min_lr_schedule_with_warmup(optimizer, 0, 10, min_lr=final)
    for step in range(11):
        assert params.learning_rate * dpo.rate_factor(params, WHOLE_SCHEDULE, step / 10) == pytest.approx(
            schedule.get_last_lr()[0], abs=1e-15
        )
        optimizer.step()
        schedule.step()


def test_the_final_rate_is_below_the_rate() -> None:
    with refuses("final-rate-above-rate"):
        conf_base(AdapterTraining, learning_rate=1e-4, final_rate=1e-3)


def test_a_schedule_over_a_run_goes_on_where_the_last_round_ended() -> None:
    params = conf_base(AdapterTraining, final_rate=1e-5, schedule="run")
    parts = [params.schedule_part(number, 4) for number in (1, 2, 3, 4)]
    assert [parts[0].start, parts[-1].end] == [0, 1]
    assert all(one.end == other.start for one, other in pairwise(parts))
    ends = [params.learning_rate * dpo.rate_factor(params, part, 1) for part in parts]
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] == pytest.approx(1e-5)
    assert conf_base(AdapterTraining).schedule_part(3, 4) == WHOLE_SCHEDULE


def test_weights_follow_the_part_of_the_schedule(llama, pairs, tmp_path) -> None:
    """At the end of the schedule the rate is next to nothing, and so is what a training moves."""

    def moved(part: SchedulePart) -> float:
        trained, _ = train_preferences(llama, pairs, PARAMS, schedule=part, seed=0)
        tensors = load_file(saved(trained, tmp_path / str(part.start)) / "adapter_model.safetensors")
        return max(float(tensor.abs().max()) for name, tensor in tensors.items() if "lora_B" in name)

    assert moved(SchedulePart(0.99, 1)) < 0.01 * moved(SchedulePart(0, 0.01))


@pytest.mark.parametrize(
    "params",
    [
        PARAMS,
        PARAMS.model_copy(update={"loss": "ipo"}),
        PARAMS.model_copy(update={"chosen_nll_weight": 0.3}),
        PARAMS.model_copy(update={"activation_checkpointing": True}),
    ],
    ids=["dpo", "ipo", "nll", "checkpointing"],
)
def test_the_curve_and_the_adapter_are_those_of_trl_itself(llama, pairs, params):
    adapter, history = train_preferences(llama, pairs, params, seed=3)
    weights, losses = stock_trl(llama, pairs, params, seed=3)
    assert [h["loss"] for h in history] == pytest.approx(losses, abs=1e-4)
    assert set(weights) == set(adapter.weights)
    for name, w in weights.items():
        assert torch.allclose(w, adapter.weights[name], atol=2e-3), name


def test_pairs_that_are_added_up_train_as_pairs_at_once(llama, pairs):
    """Four pairs a step, two or one at once: gradients are added up."""
    whole, expected = train_preferences(llama, pairs.iloc[:8], PARAMS, seed=3)
    for at_once in (2, 1):
        params = PARAMS.model_copy(update={"pairs_at_once": at_once})
        adapter, history = train_preferences(llama, pairs.iloc[:8], params, seed=3)
        assert [h["loss"] for h in history] == pytest.approx([h["loss"] for h in expected], abs=1e-4)
        for name, w in whole.weights.items():
            assert torch.allclose(w, adapter.weights[name], atol=2e-3), name


def stock_trl(base, pairs, params, seed):
    """TRL's own trainer: two full rows a pair, reference recomputed every step, same tokens and batches."""
    from datasets import Dataset
    from peft import get_peft_model_state_dict
    from transformers import PrinterCallback
    from trl import DPOConfig, DPOTrainer

    from fedtext.training.lora import lora_config

    class Tokenised(DPOTrainer):
        def _prepare_dataset(self, dataset, *_):
            return dataset

        def _send_telemetry(self):
            pass

    terms = loss_terms(params)
    model, tokenizer = base.load()
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Tokenised(
            model=model,
            args=DPOConfig(
                scratch,
                loss_type=list(terms),
                loss_weights=list(terms.values()),
                beta=params.beta,
                num_train_epochs=params.epochs,
                per_device_train_batch_size=params.batch_size,
                learning_rate=params.learning_rate,
                lr_scheduler_type="cosine",
                bf16=False,
                use_cpu=True,
                dataloader_pin_memory=False,
                seed=seed,
                save_strategy="no",
                report_to="none",
                logging_steps=1,
                disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(tokenised(pairs, tokenizer)),
            processing_class=tokenizer,
            peft_config=lora_config(model, params.lora),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    losses = [h["loss"] for h in trainer.state.log_history if "loss" in h]
    return get_peft_model_state_dict(trainer.model), losses


def test_cdpo_is_dpo_with_smoothed_labels(llama, pairs, tmp_path):
    """Against the formula, on an adapter whose margins are not zero."""
    e, beta = 0.2, PARAMS.beta
    first, _ = train_preferences(llama, pairs, PARAMS, seed=0)
    previous = saved(first, tmp_path / "first")
    changed = {"loss": "cdpo", "label_smoothing": e, "batch_size": 10, "learning_rate": 1e-3, "epochs": 1.0}
    params = PARAMS.model_copy(update=changed)
    _, history = train_preferences(llama, pairs, params, previous=previous, seed=0)
    base, tokenizer = llama.load()
    policy = PeftModel.from_pretrained(llama.load()[0], str(previous))
    rows = tokenised(pairs, tokenizer)
    ratio = {s: log_probs(policy, rows, f"{s}_ids") - log_probs(base, rows, f"{s}_ids") for s in ("chosen", "rejected")}
    margin = torch.tensor(beta * (ratio["chosen"] - ratio["rejected"]))
    expected = -(1 - e) * torch.nn.functional.logsigmoid(margin) - e * torch.nn.functional.logsigmoid(-margin)
    assert history[0]["loss"] == pytest.approx(float(expected.mean()), abs=1e-3)


def test_smoothing_belongs_to_cdpo_alone():
    with refuses("smoothing-does-not-fit-loss"):
        conf_base(AdapterTraining, label_smoothing=0.1)
    with refuses("smoothing-does-not-fit-loss"):
        conf_base(AdapterTraining, loss="cdpo")


@pytest.mark.slow
def test_an_nll_term_keeps_the_chosen_text_likely(llama, pairs):
    plain, kept = (
        train_preferences(llama, pairs, PARAMS.model_copy(update={"epochs": 8, "chosen_nll_weight": w}), seed=0)[1]
        for w in (0.0, 5.0)
    )
    assert kept[-1]["chosen_log_prob"] > plain[-1]["chosen_log_prob"] + 1


def test_dropped_pairs_are_counted(llama, pairs):
    doubled = pd.concat([pairs, pairs.assign(rejected=pairs["chosen"])])
    _, history = train_preferences(llama, doubled, PARAMS, seed=0)
    assert {h["dropped_pairs"] for h in history} == {10}
    assert len(history) == 6


def test_bad_pairs_are_refused_before_the_model_is_loaded(pairs):
    class Unloadable:
        source = "tiny"

        def load(self):
            raise AssertionError("loaded")

    for bad, code in (
        (pairs.iloc[:0], "no-pairs-left"),
        (pairs.assign(rejected=pairs["chosen"]), "no-pairs-left"),
        (pairs.assign(chosen=np.nan), "pair-without-text"),
    ):
        with refuses(code):
            train_preferences(Unloadable(), bad, PARAMS, seed=0, label="round 2")


def test_a_diverging_loss_is_an_error(llama, pairs):
    with refuses("preference-loss-not-finite"):
        train_preferences(llama, pairs, PARAMS.model_copy(update={"learning_rate": 1e38}), seed=0)


def test_nothing_is_printed_sent_or_left_behind(llama, pairs, capfd, recwarn, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr("trl.trainer.base_trainer.send_telemetry", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    train_preferences(llama, pairs, PARAMS, seed=0)
    assert capfd.readouterr() == ("", "")
    assert not [str(w.message) for w in recwarn.list]
    assert not list(tmp_path.iterdir())


def test_a_bar_is_shown_unless_switched_off(llama, pairs, capfd, monkeypatch):
    monkeypatch.setenv("FEDTEXT_PROGRESS", "1")
    train_preferences(llama, pairs, PARAMS, seed=0, label="round 4")
    shown = capfd.readouterr()
    assert "round 4: reference: " in shown.err
    assert "round 4:   0%" in shown.err
    assert shown.err.endswith("\r"), "a bar that is done leaves nothing"
    assert shown.out == ""


def test_lora_dropout_works_and_the_bases_own_is_off(gpt2, pairs, monkeypatch):
    dropouts = []
    original = dpo.shared_prompt_trainer

    def spy(*args, **options):
        trainer = original(*args, **options)
        named = trainer.model.named_modules()
        dropouts.extend(("lora" in name, m.p) for name, m in named if isinstance(m, torch.nn.Dropout))
        return trainer

    monkeypatch.setattr(dpo, "shared_prompt_trainer", spy)
    train_preferences(
        gpt2, pairs, PARAMS.model_copy(update={"epochs": 0.1, "lora": conf_base(Lora, dropout=0.25)}), seed=0
    )
    assert set(dropouts) == {(True, 0.25), (False, 0)}
