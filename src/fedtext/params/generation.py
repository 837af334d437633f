"""How text is drawn from a language model."""

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
TOPIC, NAME = "{topic}", "{name}"  # where it has what the text is about, in words and as a name in code


def as_prompt(prompt: str, parameter: str = "generation.prompt") -> str:
    r"""The name of a form, or a page: what stands around a text where such texts are found, with `{text}` once.

    The two characters of a backslash and n, as a command line gives them, are a line's end.

    Raises:
        ValueError: It is neither.
    """
    if prompt in PROMPT_NAMES:
        return prompt
    if prompt.count(TEXT) != 1:
        page = f"no page with {TEXT} in it once (as 'My question about {TOPIC}: {TEXT}')"
        raise InputError(f"{parameter} is {prompt!r}, {page} and no form: {did_you_mean(prompt, PROMPT_NAMES)}")
    return prompt.replace("\\n", "\n")


Prompt = Annotated[str, AfterValidator(as_prompt)]
Temperature = Annotated[float, Field(ge=1e-6, le=1e4)]  # logits over it stay numbers; 1e-6 takes the likeliest token


class Sampler(Parameters):
    """At most `max_new_tokens` tokens, then cut to the chunk length; `prompt` is the form in which they are asked for
    (`as_prompt`).

    `description` says in that form what the texts are (`corpus.description`); null says nothing. `examples`: requests
    show public texts. `openings`: the words that texts begin with, for requests in turn (`corpus.openings`).
    `legible_only` drops what does not read like text (`generation.cleaning`).

    `top_p` < 1 keeps the most probable tokens that together hold this mass; `min_p` > 0 drops every token with less
    than this share of the most probable one's probability, and costs no sort. `repetition_penalty` > 1 makes tokens
    that a text holds already less probable (Keskar et al., 2019, section 4.1); the request's tokens do not count.
    `batch_size` is the number of responses decoded side by side, so `batch_size / responses` prompts at once.
    """

    temperature: Temperature
    top_p: float = Field(gt=0, le=1)
    min_p: float = Field(ge=0, lt=1)
    max_new_tokens: int = Field(ge=4)
    batch_size: int = Field(ge=1)
    repetition_penalty: float = Field(ge=1, le=2)
    legible_only: bool
    prompt: Prompt
    examples: bool
    openings: Openings
    description: str | None

    @field_validator("description")
    @classmethod
    def _in_one_phrase(cls, description: str | None) -> str | None:
        return None if description is None else as_phrase(description)

    @property
    def shows_examples(self) -> bool:
        """Whether requests hold texts where there are some; a page that names its topic stands alone."""
        return self.examples and self.prompt in PROMPT_NAMES

    @property
    def names_topics(self) -> bool:
        """Whether a request says what a text is about: a page that has a place for it."""
        return TOPIC in self.prompt or NAME in self.prompt

    def asks_as(self, other: Sampler) -> bool:
        """Whether it asks in the same words and draws in the same way, however many are decoded side by side."""
        return self.model_copy(update={"batch_size": other.batch_size}) == other

    def for_one(self, temperature: float | None, prompt: Prompt | None) -> Self:
        """The same for a generator that has a temperature, or a form that it is asked in, of its own."""
        own = {"temperature": temperature, "prompt": prompt}
        return self.model_copy(update={name: value for name, value in own.items() if value is not None})


class MaskFilling(Parameters):
    """Variation by a masked language model: a `share` of a text's tokens is masked and filled in again, `passes` times.

    The masks of a pass are filled one after another, each seeing what was filled before it.
    """

    share: float = Field(gt=0, le=1)
    passes: int = Field(ge=1)
    temperature: Temperature
    top_p: float = Field(gt=0, le=1)
    batch_size: int = Field(ge=1)


def prompts_for(texts: int, responses: int, oversample: float = 1.0, *, classes: int = 1) -> int:
    """How many prompts of `responses` texts each make `oversample` times `texts`, and always a few more than `texts`.

    Now and then a text comes out empty, where the model ends the list instead of writing its next sample. Of several
    `classes` each has as many prompts as its share of the texts takes.
    """
    each = math.ceil(texts / classes)
    return classes * math.ceil(each * max(oversample, 1 + SPARE) / responses)
