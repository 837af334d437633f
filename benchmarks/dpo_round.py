"""One round of preference optimisation: our path against TRL as it comes, on the same pairs with the same result.

    python -m benchmarks.dpo_round [--models smollm2]

The prompt is about four times as long as a completion (POPri's Figure 5: three samples, then the fourth). TRL's
defaults compute it in both rows of a pair, twice more for the reference in every step, once more for gradient
checkpointing, and on a CPU make logits for it as well. Our path computes it once a pair, and the reference once a
round. The variants take turns, so that all meet the same load; the fastest of their turns count, since seconds on a
shared machine mean little. CPU seconds are given beside wall seconds. The loss curves are compared, too.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

os.environ.setdefault("FEDTEXT_PROGRESS", "0")

from fedtext.generation.prompt_forms import SampleList
from fedtext.models.language_model import LanguageModel, bundled
from fedtext.params.training import AdapterTraining
from fedtext.system.hardware import compute_device, is_bfloat16_faster
from fedtext.training.dpo import train_preferences
from fedtext.training.lora import lora_config, without_deprecations
from fedtext.training.preference_pairs import tokenised
from tests.parameters import conf_base

SAMPLE_TOKENS = 64
GOAL = 0.6  # of TRL's time
RESULT = Path("build/benchmarks/dpo_round.json")
PARAMS = conf_base(AdapterTraining, beta=0.1, learning_rate=5e-4, batch_size=24, lora={"rank": 4, "alpha": 8})


@dataclass(frozen=True)
class Wide:
    """A Llama of about 70M untrained parameters with a large vocabulary, under the shipped tokenizer."""

    source: str = "wide"

    def load(self) -> tuple[Any, Any]:
        """Return the model, always with the same weights, and the tokenizer."""
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        shape = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 12, "num_attention_heads": 9}
        model = LlamaForCausalLM(LlamaConfig(vocab_size=49_152, tie_word_embeddings=True, **shape))
        return model.eval(), LanguageModel(bundled("generator")).tokenizer()


def make_pairs(count: int, tokenizer: Any) -> pd.DataFrame:
    """Return pairs of random words, each word one token, so that lengths are exact."""
    words = [w for w in (tokenizer.decode([i]) for i in range(3, len(tokenizer))) if w[1:].isalpha() and w[0] == " "]
    random = np.random.default_rng(0)

    def text() -> str:
        return "".join(random.choice(words, size=SAMPLE_TOKENS - 2)).strip()

    prompts = [SampleList().request([text(), text(), text()]) for _ in range(count)]
    return pd.DataFrame({"prompt": prompts, "chosen": [text() for _ in prompts], "rejected": [text() for _ in prompts]})


def trl_round(base: Any, pairs: pd.DataFrame, params: AdapterTraining, **changed: Any) -> list[float]:
    """Return the losses of TRL's own trainer on our tokens; `changed` are settings other than its defaults."""
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import DPOConfig, DPOTrainer

    class Tokenised(DPOTrainer):  # type: ignore[misc]
        def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
            return dataset

        def _send_telemetry(self) -> None:
            pass

    model, tokenizer = base.load()
    gpu = torch.cuda.is_available()
    with tempfile.TemporaryDirectory() as scratch, without_deprecations():
        arguments = DPOConfig(
            scratch,
            beta=params.beta,
            per_device_train_batch_size=params.batch_size,
            num_train_epochs=params.epochs,
            learning_rate=params.learning_rate,
            lr_scheduler_type="cosine",
            bf16=is_bfloat16_faster(compute_device()),
            use_cpu=not gpu,
            dataloader_pin_memory=gpu,
            save_strategy="no",
            report_to="none",
            logging_steps=1,
            disable_tqdm=True,
            **changed,
        )
        trainer = Tokenised(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_list(list(tokenised(pairs, tokenizer))),
            processing_class=tokenizer,
            peft_config=lora_config(model, params.lora),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def our_round(base: Any, pairs: pd.DataFrame, params: AdapterTraining) -> list[float]:
    """Return the losses of fedtext's training."""
    _, history = train_preferences(base, pairs, params, seed=42)  # 42 is TRL's default
    return [entry["loss"] for entry in history]


VARIANTS: dict[str, Callable[..., list[float]]] = {
    "trl_defaults": trl_round,
    "trl_without_checkpointing": lambda *args: trl_round(*args, activation_checkpointing=False),
    "fedtext": our_round,
}


def compare(base: Any, count: int, batch: int, turns: int) -> dict[str, Any]:
    """Return each variant's fastest turn on `count` pairs, its ratio to TRL's defaults, and the loss differences."""
    model, tokenizer = base.load()
    pairs = make_pairs(count, tokenizer)
    params = PARAMS.model_copy(update={"batch_size": batch})
    row = tokenised(pairs.iloc[:1], tokenizer)[0]
    for run in VARIANTS.values():  # imports and first-call costs
        run(base, pairs.iloc[:2], params)
    wall: dict[str, list[float]] = {name: [] for name in VARIANTS}
    cpu: dict[str, list[float]] = {name: [] for name in VARIANTS}
    losses = {}
    for _ in range(turns):
        for name, run in VARIANTS.items():
            started, used = time.perf_counter(), time.process_time()
            losses[name] = run(base, pairs, params)
            wall[name].append(time.perf_counter() - started)
            cpu[name].append(time.process_time() - used)
    ours, theirs = np.array(losses["fedtext"]), np.array(losses["trl_defaults"])
    return {
        "parameters": model.num_parameters(),
        "vocabulary": model.config.vocab_size,
        "pairs": count,
        "batch": batch,
        "prompt_tokens": len(row["prompt_ids"]),
        "completion_tokens": len(row["chosen_ids"]),
        "wall_seconds": {name: round(min(times), 2) for name, times in wall.items()},
        "cpu_seconds": {name: round(min(times), 2) for name, times in cpu.items()},
        "wall_ratio": round(min(wall["fedtext"]) / min(wall["trl_defaults"]), 3),
        "cpu_ratio": round(min(cpu["fedtext"]) / min(cpu["trl_defaults"]), 3),
        "cpu_ratio_without_checkpointing": round(min(cpu["fedtext"]) / min(cpu["trl_without_checkpointing"]), 3),
        "largest_loss_difference": float(np.abs(ours - theirs).max()),
    }


# A model, pairs and pairs a step
MODELS: dict[str, tuple[Callable[[], Any], int, int]] = {
    "generator": (lambda: LanguageModel(bundled("generator")), 128, 24),
    "wide": (Wide, 8, 4),
    "smollm2": (lambda: LanguageModel("smollm2"), 24, 6),  # the main job's sizes
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="those to train")
    chosen = parser.parse_args()
    found = {}
    for name in chosen.models:
        base, count, batch = MODELS[name]
        found[name] = compare(base(), count=count, batch=batch, turns=chosen.turns)
    for name, result in found.items():
        print(f"{name}: {json.dumps(result, indent=1)}")
        ratios = f"{result['cpu_ratio']:.2f} of TRL's CPU time, {result['wall_ratio']:.2f} of its wall time"
        print(f"{name}: {ratios} (goal {GOAL})")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(
        json.dumps({"goal": GOAL, "bfloat16": is_bfloat16_faster(compute_device()), **found}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
