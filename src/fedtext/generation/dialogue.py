"""Prompts with an answer: how a model is prompted for one, and the text of both that an encoder embeds.

An encoder reads a limited number of tokens. A prompt that is too long is cut at its beginning. Cut at its end, the text
would lose the answer, and two answers to one prompt would have the same embedding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float32

from fedtext.generation.cleaning import trim_to_sentences
from fedtext.generation.few_shot import sampled_texts
from fedtext.models.generator import Framing
from fedtext.params.generation import Sampler
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder
    from fedtext.models.generator import Generator, TrainableGenerator

HUMAN, ASSISTANT, SUMMARY = "Human:", "Assistant:", "Summary:"
NEXT_TURN = f"\n\n{HUMAN}"
SUMMARISE = "Summarise this post in one or two sentences."  # ours: a post alone has no instruction


@dataclass(frozen=True)
class Dialogue:
    """The prompt template for an answer to a prompt, as a chat message or as a transcript of turns to continue.

    Attributes:
        chat: Whether the prompt is a message to a chat model.
        answer_name: The name before an answer: `ASSISTANT`, or `SUMMARY` of a post.
    """

    chat: bool = False
    answer_name: str = ASSISTANT
    sentences: ClassVar[bool] = False

    @property
    def description(self) -> str | None:
        """None, since the prompt describes the task."""
        return None

    @property
    def framing(self) -> Framing:
        """A message, whose answer ends with the model's turn; or a transcript, whose answer ends at the next turn."""
        return Framing(chat=True) if self.chat else Framing(lead=" ", closing=NEXT_TURN, stops=(NEXT_TURN,))

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the request for an answer to the prompt `topic`.

        Raises:
            ValueError: there are examples, or there is no prompt.
        """
        if examples or not topic:
            raise InputError(
                "a dialogue has a prompt and no examples: give the prompt as the topic",
                code="dialogue-without-examples",
            )
        return self.message(topic) if self.chat else self.head(topic)

    def message(self, prompt: str) -> str:
        """Return the user message for a chat model: a post with its task; a transcript of one turn as that turn.

        A longer transcript stays a transcript.
        """
        if self.answer_name == SUMMARY:
            return f"{prompt}\n\n{SUMMARISE}"
        if not (prompt.startswith(HUMAN) and prompt.endswith(ASSISTANT)):
            return prompt
        said = prompt.removeprefix(HUMAN).removesuffix(ASSISTANT).strip()
        return prompt if any(f"\n\n{name}" in said for name in (HUMAN, ASSISTANT)) else said

    def head(self, prompt: str) -> str:
        """Return the text before the answer; a prompt may itself be a transcript, up to where the answer begins."""
        if prompt.endswith(self.answer_name):
            return prompt
        opened = prompt if self.answer_name == SUMMARY else f"{HUMAN} {prompt}"
        return f"{opened}\n\n{self.answer_name}"

    def cut(self, text: str) -> str:
        """Return the answer, up to where another turn begins."""
        return text.partition(NEXT_TURN)[0].strip()


def answer_prompts(generator: TrainableGenerator, form: Dialogue, prompts: Iterable[str]) -> list[str]:
    """Return each prompt as the text that `generator` continues with an answer."""
    return generator.completion_prompts([form.request([], topic=prompt) for prompt in prompts], form.framing)


def generate_answers(
    generator: Generator,
    form: Dialogue,
    prompts: pd.DataFrame,
    *,
    responses: int,
    sampler: Sampler,
    seed: int,
    label: str,
) -> pd.DataFrame:
    """Generate `responses` answers to each of the prompts (`prompt_id`, `prompt`), in whole sentences.

    The sampler limits their length; an answer that is cut off ends with its last whole sentence.

    Returns:
        Columns `prompt_id`, `response`, `text`, `label`; the answers to one prompt are successive rows, some empty.
    """
    asked = [form.request([], topic=prompt) for prompt in prompts["prompt"]]
    written = sampled_texts(
        generator,
        prompts.assign(prompt=asked, label=None),
        responses=responses,
        sampler=sampler,
        length=sampler.max_new_tokens,
        seed=seed,
        label=label,
        form=form,
    )
    texts = trim_to_sentences(written["text"].tolist(), generator.length_tokenizer(), sampler.max_new_tokens)
    return written.assign(text=texts)


def embedded_answers(
    encoder: Encoder, form: Dialogue, prompts: Sequence[str], answers: Sequence[Sequence[str]], *, label: str
) -> Float32[np.ndarray, "prompt answer dim"]:
    """Return unit embeddings of every prompt with each of its answers (as many for each); zeros for an empty answer.

    A row depends on one prompt and its own answers only, not on the batch composition.
    """
    heads = encoder.fitted([form.head(prompt) for prompt in prompts], answers)
    texts = [
        f"{head} {answer}" if answer.strip() else "" for head, own in zip(heads, answers, strict=True) for answer in own
    ]
    rows = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    full = [row for row, text in enumerate(texts) if text]
    rows[full] = encoder.encode([texts[row] for row in full], label=label, undirected_as_zeros=True)
    return rows.reshape(len(prompts), -1, encoder.dim) if len(prompts) else np.zeros((0, 0, encoder.dim), np.float32)
