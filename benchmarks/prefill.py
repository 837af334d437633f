"""J responses of one prompt: the prompt computed once, against transformers' `generate(num_return_sequences=J)`.

    python -m benchmarks.prefill                              # SmolLM2, the shipped generator and a 60M Llama, on a CPU
    python -m benchmarks.prefill --device cuda --shape 8b     # random weights of Llama 3's 8B shape

Prompts are three times as long as completions, as in POPri's few-shot form. Both sides draw at temperature 1 from the
same weights in the same precision, bfloat16 where the hardware multiplies it faster, and write every completion to its
end. They take turns, so that both meet the same load; the median of each counts, CPU seconds stand beside wall seconds.
`transformers` repeats a prompt J times before it reads it; the fairest of its forms, a batch of prompts, is taken.
Past the prefill the gain is in attention: ours reads a prompt's keys and values once for J responses.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedtext.generation.decoding import branch_attention, decode
from fedtext.models.language_model import LanguageModel
from fedtext.system.hardware import compute_device, is_bfloat16_faster
from fedtext.system.precision import decoding_copy

RESULT = Path("build/benchmarks/prefill.json")
GOAL = 2.0  # times the tokens a second, where prefill dominates
AT_HAND = {"smollm2": "smollm2", "generator": "bundled:generator"}
SHAPES: dict[str, dict[str, Any]] = {
    "60m": {
        "vocab_size": 16_384, "hidden_size": 640, "intermediate_size": 1792, "num_hidden_layers": 10,
        "num_attention_heads": 10, "num_key_value_heads": 10, "tie_word_embeddings": True,
    },
    "8b": {
        "vocab_size": 128_256, "hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": False,
    },
}  # fmt: skip


def build(shape: str, device: Any) -> Any:
    """Return a local generator, or random weights of a shape, in bfloat16 where that is faster."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    if shape in AT_HAND:
        return LanguageModel(AT_HAND[shape]).load()[0].to(device)
    torch.manual_seed(0)
    dtype = torch.bfloat16 if is_bfloat16_faster(device) else torch.float32
    with torch.device(device):
        return AutoModelForCausalLM.from_config(LlamaConfig(**SHAPES[shape]), dtype=dtype).eval()


def sides(model: Any, ids: Any, responses: int, completion: int) -> dict[str, Callable[[], Any]]:
    """Return both ways to generate `responses` completions of every prompt."""
    import torch
    from transformers import GenerationConfig

    real = torch.ones_like(ids)
    plain = GenerationConfig(
        do_sample=True, temperature=1.0, top_p=1.0, top_k=0, num_return_sequences=responses,
        max_new_tokens=completion, min_new_tokens=completion, eos_token_id=None, pad_token_id=0, use_cache=True,
    )  # fmt: skip

    def ours() -> Any:
        uniforms = torch.rand(len(ids) * responses, completion, device=ids.device)
        unfinished = lambda tokens: torch.zeros(len(tokens), dtype=torch.bool, device=ids.device)  # noqa: E731
        with branch_attention(model):
            return decode(model, ids, real, uniforms, temperature=1.0, top_p=1.0, min_p=0.0, is_complete=unfinished)

    def transformers() -> Any:
        with torch.inference_mode():
            return model.generate(ids, attention_mask=real, generation_config=plain)[:, ids.shape[1] :]

    return {"ours": ours, "transformers": transformers}


@contextmanager
def clock(device: Any, taken: dict[str, list[float]]) -> Iterator[None]:
    """Append wall and CPU seconds of its block to `taken`."""
    import torch

    def now() -> tuple[float, float]:
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter(), time.process_time()

    wall, cpu = now()
    yield
    after = now()
    taken["wall"].append(after[0] - wall)
    taken["cpu"].append(after[1] - cpu)


def compare(shape: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return median seconds of both sides over `options.repeats` turns, after one turn that is not counted."""
    import torch

    device = compute_device(options.device)
    built = build(shape, device)
    model = decoding_copy(built)  # in the precision that decoding uses on `device`
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, model.config.vocab_size, (options.prompts, options.prompt_tokens), generator=generator)
    both = sides(model, ids.to(device), options.responses, options.completion_tokens)
    taken: dict[str, dict[str, list[float]]] = {name: {"wall": [], "cpu": []} for name in both}
    for turn in range(options.repeats + 1):
        for name, run in both.items():
            with clock(device, taken[name] if turn else {"wall": [], "cpu": []}):
                tokens = run()
            assert tokens.shape == (options.prompts * options.responses, options.completion_tokens)
    seconds = {name: {k: statistics.median(v) for k, v in times.items()} for name, times in taken.items()}
    written = options.prompts * options.responses * options.completion_tokens
    return {
        "shape": shape,
        "parameters": built.num_parameters(),
        "dtype": str(model.dtype).removeprefix("torch."),
        "seconds": seconds,
        "tokens_per_second": {name: written / times["wall"] for name, times in seconds.items()},
        "ratio": seconds["transformers"]["wall"] / seconds["ours"]["wall"],
        "cpu_ratio": seconds["transformers"]["cpu"] / seconds["ours"]["cpu"],
    }


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description="Tokens a second for J responses a prompt.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shape", action="append", choices=[*AT_HAND, *SHAPES])
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--responses", type=int, default=10)
    parser.add_argument("--prompt-tokens", type=int, default=192)
    parser.add_argument("--completion-tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    shapes = options.shape or [*AT_HAND, "60m"]
    print(
        f"{options.responses} responses a prompt, {options.prompt_tokens}:{options.completion_tokens} tokens, "
        f"{options.prompts} prompts, {options.device}, {torch.get_num_threads()} threads, median of {options.repeats}"
    )
    print(
        f"{'model':<12}{'parameters':>12}{'dtype':>10}{'ours tok/s':>12}{'generate':>12}{'ratio':>8}{'CPU ratio':>11}"
    )
    rows = []
    for shape in shapes:
        row = compare(shape, options)
        rows.append(row)
        rate = row["tokens_per_second"]
        print(
            f"{shape:<12}{row['parameters'] / 1e6:>11.1f}M{row['dtype']:>10}{rate['ours']:>12.0f}"
            f"{rate['transformers']:>12.0f}{row['ratio']:>8.2f}{row['cpu_ratio']:>11.2f}",
            flush=True,
        )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"goal": GOAL, **vars(options), "shape": shapes, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
