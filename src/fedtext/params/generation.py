"""How text is sampled from a language model."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, field_validator

from fedtext.params import Parameters
from fedtext.params.corpus import Openings, as_phrase
from fedtext.system.errors import InputError, did_you_mean

SPARE = 0.02
PromptName = Literal["list", "chat", "labelled"]
PROMPT_NAMES: tuple[PromptName, ...] = get_args(PromptName)
TEXT = "{text}"  # where a page has its text
TOPIC, NAME = "{topic}", "{name}"  # for the topic, in words and as a name in code


def as_prompt(prompt: str, parameter: str = "generation.prompt") -> str:
    """Return the name of a prompt form, or a page: the document around such a text, with `{text}` once.

    The two characters of a backslash and n, as a command line gives them, are a line end.

    Raises:
        ValueError: It is neither.
    """
    if prompt in PROMPT_NAMES:
        return prompt
    if prompt.count(TEXT) != 1:
        page = f"no page with {TEXT} in it once (as 'My question about {TOPIC}: {TEXT}')"
        raise InputError(
            f"{parameter} is {prompt!r}, {page} and no form: {did_you_mean(prompt, PROMPT_NAMES)}",
            code="unknown-prompt-form",
            parameter=parameter,
            value=prompt,
        )
    return prompt.replace("\\n", "\n")


Prompt = Annotated[str, AfterValidator(as_prompt)]
Temperature = Annotated[float, Field(ge=1e-6, le=1e4)]  # logits over it stay numbers; 1e-6 takes the likeliest token


class Sampler(Parameters):
    """At most `max_new_tokens` tokens, then cut to the chunk length; `prompt` is the prompt form (`as_prompt`).

    `description` says in the prompt what the texts are (`corpus.description`); null: it is not mentioned. `examples`:
    prompts show public texts, `shots` of them in a list. `openings`: the words that texts begin with, for prompts in
    turn (`corpus.openings`). `legible_only` drops texts that fail the quality filter (`generation.cleaning`).

    `top_p` < 1 keeps the most probable tokens that together hold this mass; `min_p` > 0 drops every token with less
    than this share of the most probable one's probability, and needs no sort. `top_k` keeps that many of the most
    probable tokens (null: all). `no_repeat_ngram` forbids a token that would make that many tokens in a row a second
    time (null: any may come again). `repetition_penalty` > 1 makes tokens that a text already has less probable (Keskar
    et al., 2019, section 4.1). The prompt's tokens count for neither.
    `batch_size` is the number of responses decoded side by side, so `batch_size / responses` prompts at once.
    """

    temperature: Temperature
    top_p: float = Field(gt=0, le=1)
    min_p: float = Field(ge=0, lt=1)
    top_k: int | None = Field(ge=1)
    no_repeat_ngram: int | None = Field(ge=1)
    max_new_tokens: int = Field(ge=4)
    batch_size: int = Field(ge=1)
    repetition_penalty: float = Field(ge=1, le=2)
    legible_only: bool
    prompt: Prompt
    examples: bool
    shots: int = Field(ge=1, le=5)
    openings: Openings
    description: str | None

    @field_validator("description")
    @classmethod
    def _in_one_phrase(cls, description: str | None) -> str | None:
        return None if description is None else as_phrase(description)

    @property
    def shows_examples(self) -> bool:
        """True if prompts show example texts where there are some; a page that names its topic has none."""
        return self.examples and self.prompt in PROMPT_NAMES

    @property
    def names_topics(self) -> bool:
        """True if a prompt names the topic of a text: a page that has a place for it."""
        return TOPIC in self.prompt or NAME in self.prompt

    def same_prompts_as(self, other: Sampler) -> bool:
        """Return whether prompt and sampling are those of `other`, whatever the batch size."""
        return self.model_copy(update={"batch_size": other.batch_size}) == other

    def for_generator(self, temperature: float | None, prompt: Prompt | None) -> Self:
        """Return the same for a generator with a temperature or a prompt form of its own."""
        own = {"temperature": temperature, "prompt": prompt}
        return self.model_copy(update={name: value for name, value in own.items() if value is not None})


class MaskFilling(Parameters):
    """Variation by a masked language model: a `share` of a text's tokens is masked and filled in again, `passes` times.

    The masks of a pass are filled one after another, each with the earlier ones filled.
    """

    share: float = Field(gt=0, le=1)
    passes: int = Field(ge=1)
    temperature: Temperature
    top_p: float = Field(gt=0, le=1)
    batch_size: int = Field(ge=1)


def prompts_for(texts: int, responses: int, oversample: float = 1.0, *, classes: int = 1) -> int:
    """Return how many prompts of `responses` texts give `oversample` times `texts`, and always a few more than `texts`.

    Now and then a text is empty, where the model ends the list instead of writing its next sample. Each of several
    `classes` has as many prompts as its share of the texts needs.
    """
    each = math.ceil(texts / classes)
    return classes * math.ceil(each * max(oversample, 1 + SPARE) / responses)
