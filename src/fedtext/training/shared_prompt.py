"""DPO without a recomputed prompt: TRL's trainer and losses on one packed row per pair.

TRL scores a pair as two rows, prompt + chosen and prompt + rejected, so a prompt of three samples is computed twice and
outweighs both completions. Here a pair is one row, `context | chosen | rejected`, where the context is the prompt
without its last token and each branch starts with that token: a branch sees the context and itself, never the other,
and its position numbers are those of the two rows. The log-probabilities are the same (a test holds them to TRL's);
logits are computed for the branches only. A model that reads a packed row differently, because it is recurrent, has a
sliding window or takes positions from elsewhere, is noticed on one pair and gets its two rows.

Shapes: `pair` pairs, `context` longest context, `step` longest completion, `row` = 2 pairs, all chosen, then rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fedtext.system.progress import progress

if TYPE_CHECKING:
    from torch import Tensor
    from trl import DPOConfig, DPOTrainer

IGNORED = -100  # label of a position that is not scored
TOLERANCE = {True: 1e-3, False: 0.25}  # nats a token between packed and separate rows, for float32 and for less


def collate(examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
    """Batch of pairs from `prompt_ids, chosen_ids, rejected_ids` and, where known, the reference's log-probabilities.

    Returns context_ids and context_mask (pair, context), padded left; input_ids, attention_mask and completion_mask
    (row, 1 + step), padded right. What stands in the padding is never seen, nor scored.
    """
    import torch

    contexts = [torch.tensor(e["prompt_ids"][:-1], dtype=torch.long) for e in examples]
    rows = [torch.tensor([e["prompt_ids"][-1], *e[side]]) for side in ("chosen_ids", "rejected_ids") for e in examples]
    attended = _padded([torch.ones_like(r) for r in rows], side="right")
    batch = {
        "context_ids": _padded(contexts, side="left"),
        "context_mask": _padded([torch.ones_like(c) for c in contexts], side="left"),
        "input_ids": _padded(rows, side="right"),
        "attention_mask": attended,
        "completion_mask": torch.cat([torch.zeros_like(attended[:, :1]), attended[:, 1:]], dim=1),
    }
    for known in ("ref_chosen_logps", "ref_rejected_logps"):
        if known in examples[0]:
            batch[known] = torch.tensor([e[known] for e in examples])
    return batch


def _padded(rows: Sequence[Tensor], side: str) -> Tensor:
    from torch.nn.utils.rnn import pad_sequence

    return pad_sequence(list(rows), batch_first=True, padding_side=side)


def completion_log_probs(
    model: Any,
    *,
    packed: bool,
    context_ids: Tensor,
    context_mask: Tensor,
    input_ids: Tensor,
    attention_mask: Tensor,
    labels: Tensor,
    **_: Any,
) -> Any:
    """TRL's fused output with `log_probs` (row, step) of each completion's tokens, 0 where the label is -100.

    From one row a pair where `packed`, else from two. The other fields feed metrics that are not kept; they are zero.
    """
    import torch
    from trl.trainer.utils import FusedCausalLMOutput

    steps, copies = input_ids.shape[1] - 1, 2 if packed else 1
    before, real, targets = input_ids[:, :-1], attention_mask[:, :-1], labels[:, 1:]
    if packed:
        before, real, targets = (torch.cat(rows.chunk(2), dim=1) for rows in (before, real, targets))
    else:
        context_ids, context_mask = context_ids.repeat(2, 1), context_mask.repeat(2, 1)
    real = torch.cat([context_mask, real], dim=1)
    logits = model(
        input_ids=torch.cat([context_ids, before], dim=1),
        attention_mask=_attention(real.bool(), steps, model.config._attn_implementation) if packed else real,
        position_ids=_positions(context_mask, steps, copies),
        use_cache=False,
        logits_to_keep=copies * steps,
    ).logits
    log_probs = _log_probs(logits, targets)
    if packed:
        log_probs = torch.cat(log_probs.chunk(2, dim=1))
    unused = torch.zeros_like(log_probs)
    return FusedCausalLMOutput(log_probs=log_probs, entropy=unused, mean_logits=unused, is_top1=unused.bool())


def _log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    from torch.nn.functional import cross_entropy

    losses = cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), reduction="none", ignore_index=IGNORED)
    return -losses.view(targets.shape)


def reads_packed_rows(model: Any, pair: Mapping[str, Any]) -> bool:
    """Whether `model` gives the completions of `pair` the same log-probabilities in one packed row as in two."""
    import torch

    if model.config._attn_implementation not in ("sdpa", "eager"):  # the others take no mask of this kind
        return False
    batch = {name: tensor.to(model.device) for name, tensor in collate([pair]).items()}
    batch["labels"] = batch["input_ids"].masked_fill(batch["completion_mask"] == 0, IGNORED)
    with torch.no_grad():
        one, two = (completion_log_probs(model, packed=packed, **batch).log_probs for packed in (True, False))
    return bool(torch.allclose(one, two, rtol=0, atol=TOLERANCE[model.dtype == torch.float32]))


def _positions(context_mask: Tensor, steps: int, branches: int) -> Tensor:
    """Position numbers (pair, context + branches x step): every branch continues where the context ends."""
    import torch

    before = (context_mask.cumsum(dim=1) - 1).clamp(min=0)
    branch = context_mask.sum(dim=1, keepdim=True) + torch.arange(steps, device=context_mask.device)
    return torch.cat([before, *[branch] * branches], dim=1)


def _attention(real: Tensor, steps: int, implementation: str) -> Tensor:
    """Who sees whom, (pair, 1, query, key): what came before in the context and in the query's own branch."""
    import torch

    order = torch.arange(real.shape[1], device=real.device)
    branch = ((order - (real.shape[1] - 2 * steps)).div(steps, rounding_mode="floor") + 1).clamp(min=0)
    visible = (branch == 0) | (branch == branch[:, None])
    causal = visible & (order <= order[:, None])
    itself = order == order[:, None]  # so that no query in the padding is left without a key
    allowed = (causal & real[:, None, :] | itself)[:, None]
    if implementation == "eager":  # adds its mask to the scores instead of choosing by it
        return torch.zeros_like(allowed, dtype=torch.float32).masked_fill(~allowed, torch.finfo(torch.float32).min)
    return allowed


def shared_prompt_trainer(
    model: Any, pairs: Sequence[Mapping[str, Any]], arguments: DPOConfig, label: str, **options: Any
) -> DPOTrainer:
    """TRL's DPOTrainer over tokenised `pairs`, its model calls replaced by `completion_log_probs`.

    With `precompute_ref_log_probs` the reference is computed once, here, with the adapter switched off.
    """
    import torch
    from datasets import Dataset
    from torch.utils.data import DataLoader
    from transformers import PrinterCallback
    from trl import DPOTrainer

    longest = max(pairs, key=lambda pair: len(pair["prompt_ids"]) + len(pair["chosen_ids"]) + len(pair["rejected_ids"]))
    score = partial(completion_log_probs, packed=reads_packed_rows(model, longest))

    class SharedPromptTrainer(DPOTrainer):  # type: ignore[misc]
        def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
            return dataset  # tokenised already, and without the <eos> TRL would add to every completion

        def _compute_loss(self, model: Any, inputs: Any, return_outputs: bool) -> Any:
            return super()._compute_loss(partial(score, model), inputs, return_outputs)

        def _precompute_ref_logps(self, dataset: Any, name: str, batch_size: int) -> Any:
            loader = DataLoader(dataset, batch_size=batch_size, collate_fn=collate)
            scored = [
                self.compute_ref_log_probs(partial(score, self.model), self._prepare_inputs(batch))
                for batch in progress(loader, f"{label}: reference", unit="batch")
            ]
            chosen, rejected = (torch.cat(parts).tolist() for parts in zip(*scored, strict=True))
            return dataset.add_column("ref_chosen_logps", chosen).add_column("ref_rejected_logps", rejected)

        def _send_telemetry(self) -> None:
            """Nothing leaves the machine."""

    rows = Dataset.from_list(list(pairs))
    trainer = SharedPromptTrainer(model=model, args=arguments, data_collator=collate, train_dataset=rows, **options)
    trainer.remove_callback(PrinterCallback)
    return trainer
