"""The prompt template of a model trained with control codes: the class, a blank line, the text and its end.

Several attributes of a text are joined by TAB into one class (Yue et al., ACL 2023, section 4.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Int

from fedtext.models.generator import Framing
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NAMELESS = "Text"
BLANK_LINE = "\n\n"


@dataclass(frozen=True)
class ControlCode:
    """A prompt that is the class alone; a sample ends where the model ends its text.

    Attributes:
        description: What the samples are, in place of a class where none is named; None: the word "Text".
    """

    description: str | None = None
    framing: ClassVar[Framing] = Framing()
    sentences: ClassVar[bool] = False

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the prompt for a text of class `label`.

        Raises:
            ValueError: there are examples, which the model was not trained to read.
        """
        if examples or topic:
            raise InputError(
                "a control code shows no examples and names no topic: ask by the class alone",
                code="control-code-is-no-prompt",
            )
        return f"{label or self.description or NAMELESS}{BLANK_LINE}"

    def cut(self, text: str) -> str:
        """Return the whole response, since the model ended the text itself."""
        return text.strip()


def coded_rows(
    tokenizer: PreTrainedTokenizerBase, codes: Sequence[str], texts: Sequence[str], length: int | None = None
) -> tuple[list[Int[np.ndarray, " shown"]], list[Int[np.ndarray, " scored"]]]:
    """Tokenise the prompt of each text, and the text: its first `length` tokens, or all of it.

    The end-of-text token follows only a text that is not cut off, so that a model does not learn to end there. Prompts
    are those of `ControlCode.request`, and begin with the same tokens as in generation.
    """
    if not texts:
        return [], []
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    shown = tokenizer(list(codes), verbose=False)["input_ids"]
    whole = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    scored = [[*tokens, *end] if length is None or len(tokens) <= length else tokens[:length] for tokens in whole]
    return [np.asarray(one) for one in shown], [np.asarray(one) for one in scored]
