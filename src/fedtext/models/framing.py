"""What stands around a sample besides the request: whether it answers a message, what opens it and what ends it."""

from __future__ import annotations

import re
from dataclasses import dataclass

LEAD = re.compile(r'\s*(?:[^"“\n]*:[ \t]*\n\s*)?["“]')  # of an answer that its writer opened: a line, a quotation mark


@dataclass(frozen=True)
class Framing:
    """How a request is put to a model, and where the sample begins and ends.

    Attributes:
        chat: Whether a request is a user's message that is answered, or the beginning of a text that goes on.
        opening: How the answer to a message begins, written by us; the model goes on with the sample.
        lead: What stands between a text that goes on and the sample, and belongs to it when a model is trained on it.
        closing: What follows a sample and belongs to it when a model is trained on it.
        plea: Closes a message to a model whose answer cannot be opened.
        stops: Texts after any of which nothing is wanted; none if the end of the response tells.
        begun: How the sample of each request begins, written by us as `opening` is; it belongs to the sample. None: as
            the model likes.
        letter_first: Whether a sample that we have not begun begins with a letter, and not with a mark or a greeting.
    """

    chat: bool = False
    opening: str = ""
    lead: str = ""
    closing: str = ""
    plea: str = ""
    stops: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    letter_first: bool = False

    def message(self, request: str, number: int = 0) -> str:
        """The request of this number to a model whose answer cannot be opened."""
        begun = f'Begin it with "{self.begun[number]}".' if self.begun else ""
        return " ".join(filter(None, [request, begun, self.plea]))

    def before(self, number: int) -> str:
        """What we write of the sample of this request, behind `opening`; the model goes on with it."""
        return f"{'' if self.chat else self.lead}{self.begun[number]}" if self.begun else ""

    def opened(self, answer: str) -> str:
        """An answer that its writer opened, as if we had: without what leads to the quotation, where it has one."""
        return LEAD.sub("", answer, count=1) if self.opening and LEAD.match(answer) else answer
