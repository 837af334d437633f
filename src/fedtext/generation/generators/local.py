"""The local generator: a model whose weights are on this machine, and its sampling.

It generates J continuations a prompt by temperature, top-p and min-p, up to a stop string, an end token or a limit.

Every prompt has its own stream of uniforms from the seed. So a response depends on seed, prompt number and response
number, and not on earlier responses, the batch composition or when other responses end (up to the rounding of a matrix
product, which differs with the batch's shape).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from jaxtyping import Float

from fedtext.generation.decoding import CHECK_EVERY, branch_attention, decode, validate_model
from fedtext.generation.first_tokens import never_first
from fedtext.generation.generators.local_weights import LocalWeights, beginnings, prompt_tokens
from fedtext.generation.token_sampling import favoured_tokens
from fedtext.models.generator import Framing, WordWeights
from fedtext.models.language_model import context_length
from fedtext.params import reading
from fedtext.params.generation import Sampler
from fedtext.seeding import stream
from fedtext.system.cores import even_batches, over_cores
from fedtext.system.errors import InputError
from fedtext.system.finished_pieces import FinishedPieces, finished_pieces
from fedtext.system.precision import decoding_copy
from fedtext.system.progress import progress

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


# Batches come in multiples of it, so that two cores end together; texts do not depend on how many cores there are.
# More of them would be smaller, and each ends with steps of a few long responses, which fetch all weights.
AT_ONCE = 2


def sample_responses(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[str],
    *,
    responses: int,
    sampler: Sampler,
    seed: int,
    stops: Sequence[str] = (),
    label: str = "responses",
    words: Sequence[WordWeights] = (),
    letter_first: bool = False,
    finished: FinishedPieces | None = None,
) -> list[list[str]]:
    """Generate `responses` continuations of every prompt, up to and including the first of `stops`.

    This is line 11 of POPri's Algorithm 1. Prompts are decoded in batches of at most `sampler.batch_size` responses,
    those of similar length together, on a CPU one batch a core; the prompt is computed once for all its responses
    (generation/decoding.py). `words` are the word weights of all prompts, or one for each
    (generation/token_sampling.py). With `letter_first` a response begins with a letter and no greeting
    (generation/first_tokens.py). A batch that is among the `finished` ones is not decoded again, and each decoded batch
    is kept there.

    Raises:
        ValueError: No responses requested, an empty prompt, a prompt that leaves no room for `sampler.max_new_tokens`,
            or a model that cannot decode responses side by side.
    """
    import torch

    if responses < 1:
        raise InputError(
            f"{responses} responses a prompt asked: ask for at least 1",
            code="too-few-responses-asked",
            parameter="responses",
            value=responses,
        )
    encoded = _encode(model, tokenizer, prompts, sampler.max_new_tokens)
    validate_model(model, max(map(len, encoded), default=0) + sampler.max_new_tokens)
    parts = _parts(len(prompts), responses)
    asks = [_Ask(prompt, part, responses // parts) for prompt in range(len(prompts)) for part in range(parts)]
    asks.sort(key=lambda ask: -len(encoded[ask.prompt]))  # memory freed once serves all that follow
    batches = even_batches(asks, sampler.batch_size // (responses // parts), AT_ONCE)
    model = decoding_copy(model)
    is_complete = completion(model, tokenizer, stops)
    favoured = favoured_tokens(words, len(prompts), tokenizer, model.config.vocab_size, model.device)

    excluded = never_first(tokenizer, model.config.vocab_size, model.device) if letter_first else None

    def respond(batch: Sequence[_Ask]) -> list[str]:
        ids, real = _left_padded([encoded[ask.prompt] for ask in batch], tokenizer.pad_token_id, model.device)
        draws = [ask.uniforms(seed, responses, sampler.max_new_tokens) for ask in batch]
        tokens = decode(
            model,
            ids,
            real,
            torch.from_numpy(np.concatenate(draws)).to(model.device),
            temperature=sampler.temperature,
            top_p=sampler.top_p,
            min_p=sampler.min_p,
            top_k=sampler.top_k,
            no_repeat_ngram=sampler.no_repeat_ngram,
            is_complete=is_complete,
            favoured=None if favoured is None else favoured.of_prompts([ask.prompt for ask in batch]),
            repetition_penalty=sampler.repetition_penalty,
            never_first=excluded,
        )
        return decoded_texts(tokens, tokenizer, end_tokens(model, tokenizer), stops)

    finished = finished or FinishedPieces()
    due = [number for number in range(len(batches)) if finished.get(number) is None]

    def kept(decoded: Iterator[list[str]]) -> Iterator[list[str]]:
        for number in range(len(batches)):
            if (written := finished.get(number)) is None:
                finished.keep(number, written := next(decoded))
            yield written

    texts: list[list[str]] = [[] for _ in prompts]
    with branch_attention(model):
        done = kept(over_cores(respond, (batches[number] for number in due), len(due), model.device))
        for batch, written in zip(batches, progress(done, label, unit="batch", total=len(batches)), strict=True):
            for n, ask in enumerate(batch):  # parts of a prompt are in order
                texts[ask.prompt] += written[n * ask.responses : (n + 1) * ask.responses]
    return texts


@dataclass(frozen=True)
class _Ask:
    """Some of a prompt's responses, which share a batch: the `part`-th group of equal size."""

    prompt: int
    part: int
    responses: int

    def uniforms(self, seed: int, of: int, steps: int) -> Float[np.ndarray, "response step"]:
        """Return the uniform draws of these `of` the prompt's responses."""
        drawn = stream(seed, "responses", self.prompt).random((of, steps), np.float32)
        return drawn[self.part * self.responses : (self.part + 1) * self.responses]


def _parts(prompts: int, responses: int) -> int:
    """Return the number of equal parts of a prompt's responses: one if there are enough prompts for all cores."""
    wanted = -(-AT_ONCE // max(prompts, 1))
    return max(parts for parts in range(1, wanted + 1) if responses % parts == 0)


def _encode(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompts: Sequence[str], new_tokens: int
) -> list[list[int]]:
    """Tokenise every prompt, and check its length against the model's context."""
    encoded = prompt_tokens(prompts, tokenizer)
    longest = context_length(model)
    for number, ids in enumerate(encoded):
        if longest is not None and len(ids) + new_tokens > longest:
            raise InputError(
                f"prompt {number} has {len(ids)} tokens; with {new_tokens} new ones that is more than the model's "
                f"{longest}: lower chunking.length or sampler.max_new_tokens, or choose one with a longer context",
                code="prompt-too-long",
                value=number,
            )
    return encoded


def _left_padded(rows: Sequence[list[int]], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return token ids padded on the left, and 1 where a token is real."""
    import torch

    length = max(map(len, rows))
    ids = torch.tensor([[pad] * (length - len(row)) + row for row in rows])
    real = torch.tensor([[0] * (length - len(row)) + [1] * len(row) for row in rows])
    return ids.to(device), real.to(device)


def end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the ids that end a text: the model's own list (Llama 3 has several) and the tokenizer's."""
    configured = model.generation_config.eos_token_id if model.generation_config is not None else None
    listed = configured if isinstance(configured, list) else [configured]
    return sorted({i for i in (*listed, tokenizer.eos_token_id) if i is not None})


def completion(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, stops: Sequence[str]
) -> Callable[[Tensor], Tensor]:
    """Return a function that marks rows with an end-of-text token or a stop string, to call every CHECK_EVERY steps."""
    import torch

    ends = torch.tensor(end_tokens(model, tokenizer), device=model.device)
    window = CHECK_EVERY + max((len(stop.encode()) for stop in stops), default=0)  # a token is a byte or more

    def is_complete(tokens: Tensor) -> Tensor:
        ended = torch.isin(tokens, ends).any(1)
        if not stops:
            return ended
        texts = tokenizer.batch_decode(tokens[:, -window:], clean_up_tokenization_spaces=False)
        return ended | torch.tensor([any(stop in text for stop in stops) for text in texts], device=tokens.device)

    return is_complete


def decoded_texts(
    tokens: Tensor, tokenizer: PreTrainedTokenizerBase, ends: Sequence[int], stops: Sequence[str]
) -> list[str]:
    """Decode rows, each up to its first end-of-text token and up to and including the first of `stops`."""
    table = tokens.cpu().numpy()
    ended = np.isin(table, list(ends))
    lengths = np.where(ended.any(1), ended.argmax(1), table.shape[1])
    rows = [row[:length].tolist() for row, length in zip(table, lengths, strict=True)]
    texts = tokenizer.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    if not stops:
        return list(texts)
    any_stop = re.compile("|".join(map(re.escape, stops)))
    return [text[: found.end()] if (found := any_stop.search(text)) else text for text in texts]


@dataclass(frozen=True)
class LocalGenerator(LocalWeights):
    """A language model, with or without an adapter, that generates here and can be trained (a `GuidedGenerator`).

    Attributes:
        words: Word weights for all requests, or one for each; empty: none.
    """

    words: tuple[WordWeights, ...] = ()

    def with_word_weights(self, words: Sequence[WordWeights]) -> Self:
        """Return the same generator with these word weights, for all requests or the n-th for the n-th request."""
        return replace(self, words=tuple(words))

    def write(
        self,
        requests: Sequence[str],
        *,
        framing: Framing,
        responses: int,
        sampler: Sampler,
        seed: int,
        label: str,
    ) -> list[list[str]]:
        """Generate as `Generator.write` does; equal arguments give equal texts."""
        if not requests:
            return []
        model, tokenizer = self.load()
        begun = [framing.before(number) for number in range(len(requests))]
        prompts = beginnings(self.source, requests, framing, tokenizer)
        own = self.own(sampler)
        with reading.without_recording():  # what names the pieces shapes no text
            finished = finished_pieces(self, requests, framing, responses, own, seed, str(model.device))
        written = sample_responses(
            model,
            tokenizer,
            [prompt + words for prompt, words in zip(prompts, begun, strict=True)],
            responses=responses,
            sampler=own,
            seed=seed,
            stops=framing.stops,
            label=label,
            words=self.words,
            letter_first=framing.letter_first and not framing.begun,
            finished=finished,
        )
        return [[words + text for text in texts] for words, texts in zip(begun, written, strict=True)]
