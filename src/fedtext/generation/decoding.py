"""Decode J continuations of each of K prompts from one prefill, as branches that share their prompt.

A prompt is computed once. Its J responses then grow side by side, one token each at a step. Keys and values of the
prompt are computed, stored and read once for J responses instead of J times. A complete response leaves the batch. Any
model works that has attention-only layers, a 4D mask and explicit positions (Llama, GPT-2, Qwen, ...) and whose layers
see the whole text; `validate_model` rejects others.

Attention has two parts, to the shared prompt and to the branch's own tokens. A model's own attention would copy the
prompt's keys and values for every branch, and again for every query head that shares them (Llama 3, Qwen, SmolLM2): a
copy of the whole cache at every step, in every layer. Here the queries that read the same keys are stacked instead. So
each prompt is read once for all heads and branches, and each branch's own tokens once for all heads. The two results
are combined by the normalisers of their softmax.

The key-value cache holds the keys of a prompt once, and those of each response by themselves. transformers' caches have
one row a response: a prompt's keys are stored once for each response, and a complete response stays in the batch until
all are. Here branches leave without moving a prompt.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxtyping import Bool, Float, Int

from fedtext.generation.token_sampling import FavouredTokens, draw_tokens, penalised, without_repeats
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel
    from transformers.cache_utils import Cache


NAME, PLAIN = "fedtext_branches", "sdpa"  # in transformers' register of attention functions
NOT_HERE = ("dropout", "softcap", "position_bias")  # options that only transformers' own function knows
CACHE: ContextVar[Cache | None] = ContextVar(
    "cache", default=None
)  # the cache whose branches take a step on this thread


@contextmanager
def branch_attention(model: PreTrainedModel) -> Iterator[None]:
    """Make `model` attend in two parts in this context; a model with its own attention function is left as it is."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    if model.config._attn_implementation != PLAIN:
        yield
        return
    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(PLAIN)


def attends_in_parts(model: PreTrainedModel) -> bool:
    """Return whether `model` is inside `branch_attention`."""
    return bool(model.config._attn_implementation == NAME)


@contextmanager
def step_of(cache: Cache) -> Iterator[None]:
    """Take a step of all branches of `cache` in this context, on this thread."""
    token = CACHE.set(cache)
    try:
        yield
    finally:
        CACHE.reset(token)


def _attention(
    module: Any,
    query: Float[Tensor, "row head place size"],
    key: Float[Tensor, "row kept seen size"],
    value: Float[Tensor, "row kept seen size"],
    attention_mask: Float[Tensor, "row 1 place seen"] | None,
    **options: Any,
) -> tuple[Float[Tensor, "row place head size"], None]:
    """Attend as transformers does for a prompt; at a step, `key` and `value` are the branches' own."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    cache = CACHE.get()
    if cache is not None:
        layer = cache.layers[module.layer_idx]
        if not any(_is_given(options.get(name)) for name in NOT_HERE):
            return _in_parts(layer, query, key, value, options.get("scaling")), None
        key, value = layer.whole()
    plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return plain


def _is_given(option: Any) -> bool:
    return option is not None and not (isinstance(option, float) and option == 0)


def _in_parts(
    layer: Any,
    query: Float[Tensor, "branch head 1 size"],
    key: Float[Tensor, "branch kept step size"],
    value: Float[Tensor, "branch kept step size"],
    scale: float | None,
) -> Float[Tensor, "branch 1 head size"]:
    import torch

    grouped = query.reshape(len(query), key.shape[1], -1, query.shape[-1])
    own, own_weight = _read(grouped, key, value, None, scale)
    layout, (prompt_key, prompt_value) = layer.layout, layer.prompt
    at_prompts = _read(layout.by_prompt(grouped), prompt_key, prompt_value, layout.padding[:, None, None], scale)
    shared, shared_weight = map(layout.by_branch, at_prompts)
    share = torch.sigmoid(own_weight - shared_weight)[..., None]
    found = torch.lerp(shared.float(), own.float(), share).to(query.dtype)
    return found.reshape(len(query), 1, query.shape[1], -1)


def _read(
    query: Float[Tensor, "row head query size"],
    key: Float[Tensor, "row head seen size"],
    value: Float[Tensor, "row head seen size"],
    mask: Float[Tensor, "row 1 1 seen"] | None,
    scale: float | None,
) -> tuple[Float[Tensor, "row head query size"], Float[Tensor, "row head query"]]:
    """Return the attention output of the queries, and the logarithm of the softmax normaliser."""
    import torch

    if query.device.type == "cpu":  # fused, as scaled_dot_product_attention is here, and returns both
        if mask is not None:
            mask = mask.expand(-1, -1, query.shape[2], -1)
        fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        found, divided_by = fused(query, key, value, attn_mask=mask, scale=scale)
        return found, divided_by
    scores = (query @ key.transpose(-1, -2)).float() * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    return scores.softmax(-1).to(value.dtype) @ value, scores.logsumexp(-1)


@dataclass
class Layout:
    """The prompt that each branch continues. Branches of a prompt are adjacent, in the order of the prompts.

    Attributes:
        padding: Additive mask of the prompts' padding on the left, prompt x place.
        prompts: Row of `padding` for every branch, ascending.
    """

    padding: Float[Tensor, "prompt place"]
    prompts: Int[Tensor, " branch"]

    def __post_init__(self) -> None:
        import torch

        counts = torch.bincount(self.prompts, minlength=len(self.padding))
        firsts = counts.cumsum(0) - counts
        self.numbers = torch.arange(len(self.prompts), device=self.prompts.device) - firsts[self.prompts]
        # As many branches for every prompt as the one with most has: the missing ones repeat its last.
        slots = torch.arange(int(counts.max()), device=self.prompts.device)
        self.slots = firsts[:, None] + torch.minimum(slots, counts[:, None] - 1)

    def by_prompt(self, x: Float[Tensor, "branch head query size"]) -> Float[Tensor, "prompt head queries size"]:
        """Stack the queries of a prompt's branches side by side."""
        return x[self.slots].transpose(1, 2).flatten(2, 3)

    def by_branch(self, x: Float[Tensor, "prompt head queries ..."]) -> Float[Tensor, "branch head query ..."]:
        """Split what was computed `by_prompt` into the branches again."""
        return x.unflatten(2, (self.slots.shape[1], -1)).transpose(1, 2)[self.prompts, self.numbers]

    def mask(self, steps: int) -> Float[Tensor, "branch 1 1 key"]:
        """Return the additive mask of `BranchLayer.whole` keys."""
        import torch

        own = self.padding.new_zeros(len(self.prompts), steps)
        return torch.cat([self.padding[self.prompts], own], dim=1)[:, None, None]


def new_cache(layout: Layout, room: int, *, in_parts: bool) -> Cache:
    """Return an empty cache, for one update with the prompts and then at most `room` tokens of every branch.

    With `in_parts` an update returns the branches' own keys and values, and the attention function reads `prompt`
    itself. Otherwise it returns both together, as any attention function expects.
    """
    from transformers.cache_utils import Cache, DynamicLayer

    class BranchLayer(DynamicLayer):  # type: ignore[misc]
        """One layer's cache.

        `prompt` has keys and values (prompt, head, place, size), `own` their buffers (branch, head, step, size).
        """

        steps = 0

        def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
            if not self.is_initialized:
                self.lazy_initialization(keys, values)
                self.layout, self.prompt = layout, (keys, values)
                self.own = tuple(x.new_empty(len(layout.prompts), x.shape[1], room, x.shape[3]) for x in (keys, values))
                return keys, values
            for buffer, new in zip(self.own, (keys, values), strict=True):
                buffer[: len(new), :, self.steps] = new[:, :, 0]
            self.steps += 1
            return self.own_parts() if in_parts else self.whole()

        def get_seq_length(self) -> int:
            return self.prompt[0].shape[2] + self.steps if self.is_initialized else 0

        def own_parts(self) -> tuple[Tensor, Tensor]:
            keys, values = (buffer[: len(self.layout.prompts), :, : self.steps] for buffer in self.own)
            return keys, values

        def whole(self) -> tuple[Tensor, Tensor]:
            """Return a copy of its prompt's keys and values before each branch's own."""
            import torch

            read = zip(self.prompt, self.own_parts(), strict=True)
            keys, values = (torch.cat([shared[self.layout.prompts], own], dim=2) for shared, own in read)
            return keys, values

        def keep(self, branches: Tensor, prompts: Tensor, left: Layout) -> None:
            """Keep these branches and prompts only, laid out as in `left`."""
            for buffer in self.own:
                buffer[: len(branches), :, : self.steps] = buffer[branches, :, : self.steps]
            if len(prompts) < len(self.prompt[0]):
                self.prompt = tuple(x[prompts] for x in self.prompt)
            self.layout = left

    return Cache(layer_class_to_replicate=BranchLayer)


CHECK_EVERY = 2  # steps between looks at which responses are complete
SHRINK = 0.9  # complete responses are dropped when the batch gets at least this small: to drop is to copy the others


@dataclass
class Branches:
    """Decoding state of the responses that are still in the batch.

    Attributes:
        cache: Keys and values of the prompts, and of one token of every branch for every step.
        layout: The prompt of every branch.
        positions: Position of each branch's first generated token.
        responses: Index of each branch among the caller's responses.
        tokens: The token sampled last, by branch.
        steps: Tokens of every branch in the cache.
    """

    cache: Cache
    layout: Layout
    positions: Int[Tensor, " branch"]
    responses: Int[Tensor, " branch"]
    tokens: Int[Tensor, " branch"]
    steps: int = 0

    def forward(self, model: PreTrainedModel) -> Float[Tensor, "branch token"]:
        """Take one step, and return the logits that follow `tokens`."""
        self.steps += 1
        with step_of(self.cache):
            output = model(
                input_ids=self.tokens[:, None],
                attention_mask=self.layout.mask(self.steps),
                position_ids=(self.positions + self.steps - 1)[:, None],
                past_key_values=self.cache,
                use_cache=True,
            )
        logits: Tensor = output.logits[:, -1]
        return logits

    def drop(self, complete: Bool[Tensor, " response"]) -> None:
        """Remove complete responses, if that makes the batch markedly smaller."""
        kept = (~complete[self.responses]).nonzero()[:, 0]
        if len(kept) > SHRINK * len(self.responses):
            return
        prompts, of_branches = self.layout.prompts[kept].unique(return_inverse=True)
        self.layout = Layout(self.layout.padding[prompts], of_branches)
        for layer in self.cache.layers:
            layer.keep(kept, prompts, self.layout)
        self.positions, self.responses, self.tokens = (x[kept] for x in (self.positions, self.responses, self.tokens))


def start(
    model: PreTrainedModel, ids: Int[Tensor, "row prompt"], real: Int[Tensor, "row prompt"], responses: int, most: int
) -> tuple[Branches, Float[Tensor, "branch token"]]:
    """Compute every prompt once, whatever the number of responses.

    Args:
        model: The generator.
        ids: Tokens of the prompts, padded on the left.
        real: 1 where `ids` holds a token of the prompt, 0 where it is padding.
        responses: Branches per prompt.
        most: The most tokens that a branch will get.

    Returns:
        One branch per response, with nothing generated yet, and the logits of its first token.
    """
    import torch

    prompts = torch.arange(len(ids), device=ids.device).repeat_interleave(responses)
    padding = torch.zeros(real.shape, dtype=model.dtype, device=ids.device)
    layout = Layout(padding.masked_fill_(real == 0, torch.finfo(model.dtype).min), prompts)
    cache = new_cache(layout, most, in_parts=attends_in_parts(model))
    positions = (real.cumsum(-1) - 1).clamp_(min=0)
    logits = model(
        input_ids=ids,
        attention_mask=real,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits[:, -1]
    numbers = torch.arange(len(prompts), device=ids.device)
    first = (positions[:, -1] + 1)[prompts]
    return Branches(cache, layout, first, numbers, torch.zeros_like(numbers)), logits[prompts]


def validate_model(model: PreTrainedModel, longest: int) -> None:
    """Raise ValueError if the model does not attend to all that the mask allows, with `longest` tokens in a row.

    A local attention layer ignores a part of the text, or attends to it otherwise than in training.
    """
    config = model.config.get_text_config()
    named = config.name_or_path or config.model_type
    if "position_ids" not in inspect.signature(type(model).forward).parameters:
        raise InputError(
            f"{named} takes no positions, so responses cannot share a prompt: take another generator",
            code="no-positions",
        )
    window = _window(config)
    if window is not None and window < longest:
        raise InputError(
            f"{named} looks back {window} tokens only; a prompt with its response takes {longest}: take a generator "
            "with full attention, or lower chunking.length or sampler.max_new_tokens",
            code="window-too-short",
            value=window,
        )


def _window(config: Any) -> int | None:
    """Return the window of the model's local attention layers; None if all of them see the whole text."""
    kinds = getattr(config, "layer_types", None) or getattr(config, "attention_layers", None) or ("local",)
    if not getattr(config, "use_sliding_window", True) or not set(kinds) - {"full_attention", "global"}:
        return None
    window: int | None = getattr(config, "sliding_window", None) or getattr(config, "window_size", None)
    return window


def decode(
    model: PreTrainedModel,
    ids: Int[Tensor, "row prompt"],
    real: Int[Tensor, "row prompt"],
    uniforms: Float[Tensor, "response step"],
    *,
    temperature: float,
    top_p: float,
    min_p: float,
    top_k: int | None = None,
    no_repeat_ngram: int | None = None,
    is_complete: Callable[[Int[Tensor, "response step"]], Bool[Tensor, " response"]],
    favoured: FavouredTokens | None = None,
    repetition_penalty: float = 1.0,
    never_first: Bool[Tensor, " token"] | None = None,
) -> Int[Tensor, "response step"]:
    """Generate J continuations a prompt for left-padded prompts, from one row of `uniforms` for each, prompt by prompt.

    Decoding ends when `is_complete` holds for every response; it is called every few steps with those still open.
    Tokens after a response's completion are undefined. `favoured` has a row for each prompt, and is added before
    temperature, top-k, top-p and min-p. `repetition_penalty` and `no_repeat_ngram` apply to the tokens of the response;
    no response begins with a token of `never_first`.
    """
    import torch

    total, most = uniforms.shape
    tokens = torch.zeros(total, most, dtype=torch.long, device=ids.device)
    complete = torch.zeros(total, dtype=torch.bool, device=ids.device)
    with torch.inference_mode():
        branches, logits = start(model, ids, real, total // len(ids), most)
        for step in range(most):
            if favoured is not None:
                prompt, written = branches.responses // (total // len(ids)), tokens[branches.responses, :step]
                logits = favoured.added_to(logits, prompt, written)
            if repetition_penalty > 1 and step:
                logits = penalised(logits, tokens[branches.responses, :step], repetition_penalty)
            if no_repeat_ngram is not None:
                logits = without_repeats(logits, tokens[branches.responses, :step], no_repeat_ngram)
            if never_first is not None and step == 0:
                logits = logits.masked_fill(never_first, -math.inf)
            draws = uniforms[:, step][branches.responses]
            branches.tokens = draw_tokens(logits, draws, temperature=temperature, top_p=top_p, min_p=min_p, top_k=top_k)
            tokens[branches.responses, step] = branches.tokens
            if step % CHECK_EVERY == CHECK_EVERY - 1:
                left = (~complete).nonzero()[:, 0]
                complete[left] = is_complete(tokens[left, : step + 1])
                if complete.all():
                    break
                branches.drop(complete)
            if step + 1 < most:
                logits = branches.forward(model)
    return tokens
