"""Tokens that a text must not begin with: punctuation, spaces and greetings.

A model that is prompted for one message often begins a letter: "Dear Emily Johnson,". A text that begins with
punctuation is a list, a placeholder or talk about the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Bool

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase

GREETINGS = {
    *("dear", "hi", "hello", "hey", "greetings", "good", "welcome", "sincerely", "thank", "thanks", "sorry"),
    *("subject", "to", "from", "title", "note", "question", "here", "sure"),
    *("bonjour", "bonsoir", "salut", "cher", "chère", "cordialement", "objet", "hallo", "liebe", "lieber", "betreff"),
    *("hola", "estimado", "estimada", "querido", "querida", "asunto", "你好", "您好", "尊敬", "亲爱", "主题", "مرحبا"),
}
CUT = "\ufffd"  # bytes that make a sign only with the next token's
SYMBOLS = ("â", "ð", "<0xE2>", "<0xF0>")  # first bytes of marks and emoji, as byte-level tokenizers write them
MARKS_OF_A_BEGINNING = "¿¡"


def never_first(tokenizer: PreTrainedTokenizerBase, tokens: int, device: torch.device) -> Bool[Tensor, " token"]:
    """Return True for tokens whose text does not begin with a letter of any script, or is a greeting."""
    import torch

    numbers = range(min(len(tokenizer), tokens))
    texts = tokenizer.batch_decode([[number] for number in numbers], clean_up_tokenization_spaces=False)
    written = tokenizer.convert_ids_to_tokens(list(numbers))
    allowed = torch.zeros(tokens, dtype=torch.bool)
    allowed[: len(texts)] = torch.tensor([begins_a_text(*both) for both in zip(texts, written, strict=True)])
    allowed[[number for number in tokenizer.all_special_ids if number < tokens]] = False
    return ~allowed.to(device)


def begins_a_text(text: str, written: str) -> bool:
    """Return whether a token may begin a text, from its text and, where bytes are cut, the tokenizer's spelling."""
    first = text[:1]
    if first == CUT:
        return not written.startswith(SYMBOLS)
    return (first.isalpha() or first in tuple(MARKS_OF_A_BEGINNING)) and text.strip().casefold() not in GREETINGS
