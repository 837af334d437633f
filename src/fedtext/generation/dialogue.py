"""A prompt with an answer: how a model is asked for one, and the text that an encoder reads of both.

An encoder reads so many tokens and no more. A prompt that is too long is cut on its left, where it begins: cut on the
right, the text would lose the answer, and two answers to one prompt would look alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float32

from fedtext.generation.cleaning import whole_answers
from fedtext.generation.few_shot import sampled_texts
from fedtext.models.generator import Framing
from fedtext.params.generation import Sampler
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder
    from fedtext.models.generator import Generator, TrainableGenerator

HUMAN, ASSISTANT, SUMMARY = "Human:", "Assistant:", "Summary:"
NEXT_TURN = f"\n\n{HUMAN}"
SUMMARISE = "Summarise this post in one or two sentences."  # ours: a post alone asks for nothing


@dataclass(frozen=True)
class Dialogue:
    """Asks for an answer to a prompt, as a message or by a transcript of turns that goes on (a prompt form).

    Attributes:
        chat: Whether the prompt is a message to a model that answers.
        answer_name: What stands before an answer: `ASSISTANT`, or `SUMMARY` of a post.
    """

    chat: bool = False
    answer_name: str = ASSISTANT
    sentences: ClassVar[bool] = False

    @property
    def description(self) -> str | None:
        """The prompt says it."""
        return None

    @property
    def framing(self) -> Framing:
        """A message, whose answer ends with the model's turn; or a transcript, whose answer ends at the next turn."""
        return Framing(chat=True) if self.chat else Framing(lead=" ", closing=NEXT_TURN, stops=(NEXT_TURN,))

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Asks for an answer to the prompt `topic`.

        Raises:
            ValueError: there are examples, or there is no prompt.
        """
        if examples or not topic:
            raise InputError("a dialogue has a prompt and no examples: give the prompt as the topic")
        return self.message(topic) if self.chat else self.head(topic)

    def message(self, prompt: str) -> str:
        """What a person says to a model that answers: a post with its task; a transcript of one turn is that turn.

        A longer transcript stays one.
        """
        if self.answer_name == SUMMARY:
            return f"{prompt}\n\n{SUMMARISE}"
        if not (prompt.startswith(HUMAN) and prompt.endswith(ASSISTANT)):
            return prompt
        said = prompt.removeprefix(HUMAN).removesuffix(ASSISTANT).strip()
        return prompt if any(f"\n\n{name}" in said for name in (HUMAN, ASSISTANT)) else said

    def head(self, prompt: str) -> str:
        """All that stands before the answer; a prompt may be a transcript itself, up to where the answer begins."""
        if prompt.endswith(self.answer_name):
            return prompt
        opened = prompt if self.answer_name == SUMMARY else f"{HUMAN} {prompt}"
        return f"{opened}\n\n{self.answer_name}"

    def cut(self, text: str) -> str:
        """The answer, up to where another turn begins."""
        return text.partition(NEXT_TURN)[0].strip()


def begun_prompts(generator: TrainableGenerator, form: Dialogue, prompts: Iterable[str]) -> list[str]:
    """Each prompt as the text that `generator` continues with an answer."""
    return generator.completion_prompts([form.request([], topic=prompt) for prompt in prompts], form.framing)


def written_answers(
    generator: Generator,
    form: Dialogue,
    prompts: pd.DataFrame,
    *,
    responses: int,
    sampler: Sampler,
    seed: int,
    label: str,
) -> pd.DataFrame:
    """`responses` answers to each of the prompts (`prompt_id`, `prompt`), in whole sentences.

    They are as long as the sampler lets them be; one that this cuts off ends with its last whole sentence.

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
    texts = whole_answers(written["text"].tolist(), generator.length_tokenizer(), sampler.max_new_tokens)
    return written.assign(text=texts)


def embedded_answers(
    encoder: Encoder, form: Dialogue, prompts: Sequence[str], answers: Sequence[Sequence[str]], *, label: str
) -> Float32[np.ndarray, "prompt answer dim"]:
    """Unit embeddings of every prompt with each of its answers, as many for each; zeros for an empty answer.

    What a row is made of is one prompt with its own answers, whoever else is there.
    """
    heads = encoder.fitted([form.head(prompt) for prompt in prompts], answers)
    texts = [
        f"{head} {answer}" if answer.strip() else "" for head, own in zip(heads, answers, strict=True) for answer in own
    ]
    rows = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    full = [row for row, text in enumerate(texts) if text]
    rows[full] = encoder.encode([texts[row] for row in full], label=label, undirected_as_zeros=True)
    return rows.reshape(len(prompts), -1, encoder.dim) if len(prompts) else np.zeros((0, 0, encoder.dim), np.float32)
