"""A generator's weights on this machine: how it is trained and how its prompts begin, whoever writes its texts.

This process may write them (`fedtext.generation.generators.local`), or servers with the same weights
(`fedtext.generation.generators.served`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedtext.models.generator import Framing
from fedtext.models.language_model import LanguageModel, Tokenizer
from fedtext.params.generation import Prompt, Sampler
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class LocalWeights(LanguageModel):
    """A language model, with or without an adapter, that can be trained: a `TrainableGenerator` but for `write`.

    Attributes:
        measure: The tokenizer that counts lengths; None: the model's own.
        temperature: This generator's own temperature; None: the sampler's.
        prompt: This generator's own prompt form; None: the sampler's.
    """

    measure: Tokenizer | None = None
    temperature: float | None = None
    prompt: Prompt | None = None

    @property
    def identity(self) -> str:
        """Source, adapter and temperature, as far as they are set."""
        adapter = f", adapter {self.adapter.name}" if self.adapter else ""
        return f"{self.source}{adapter}" + (f", temperature {self.temperature:g}" if self.temperature else "")

    def length_tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer that counts lengths."""
        return self.tokenizer() if self.measure is None else self.measure.load()

    def own(self, sampler: Sampler) -> Sampler:
        """Return the sampler with this generator's own temperature and prompt form."""
        return sampler.for_generator(self.temperature, self.prompt)

    def completion_prompts(self, requests: Sequence[str], framing: Framing) -> list[str]:
        """Return the requests themselves, or in the model's chat template, up to where the sample begins.

        Raises:
            ValueError: The model has no chat template.
        """
        return beginnings(self.source, requests, framing, self.tokenizer())

    def ending(self, framing: Framing) -> str:
        """Return the framing's closing, and in a chat the token that ends the model's turn."""
        return f"{framing.closing}{self.tokenizer().eos_token or ''}" if framing.chat else framing.closing


def beginnings(source: str, requests: Sequence[str], framing: Framing, tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Return what the model reads before each sample: the request, or a chat up to the answer's opening.

    Raises:
        ValueError: The model has no chat template.
    """
    if not framing.chat:
        return list(requests)
    if tokenizer.chat_template is None:
        raise InputError(no_chat_message(source, "has no chat template"), code="no-chat-template", value=source)
    first = tokenizer.bos_token if _adds_first_token(tokenizer) else None
    turns = ([{"role": "user", "content": text}] for text in requests)
    texts = [tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True) for turn in turns]
    return [(text.removeprefix(first) if first else text) + framing.opening for text in texts]


def prompt_tokens(prompts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[list[int]]:
    """Return the tokens of every prompt.

    Raises:
        ValueError: One is empty.
    """
    tokens: list[list[int]] = tokenizer(list(prompts), verbose=False)["input_ids"] if prompts else []
    for number, ids in enumerate(tokens):
        if not ids:
            raise InputError(
                f"prompt {number} is empty: a continuation needs at least one token to continue",
                code="empty-prompt",
                value=number,
            )
    return tokens


def no_chat_message(source: str, reason: str) -> str:
    """Return an error message: the model cannot be prompted with messages; `reason` says why, as a predicate."""
    return (
        f"generator '{source}' {reason}, so it cannot be asked in messages: set generation.prompt=list, or take a "
        "model that was trained to chat, as models.generator=smollm2 (others' names often end in -Instruct)"
    )


def _adds_first_token(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether the tokenizer begins every text with its first token, which a template could then double."""
    ids = tokenizer("a")["input_ids"]
    return tokenizer.bos_token_id is not None and ids[:1] == [tokenizer.bos_token_id]
