"""Answers of models that reason before they answer: what they say to themselves is no part of the answer.

A server may take the reasoning apart (`reasoning_content`), or leave it in the answer between marks, of which the first
may stand in the model's own template. Where the answer's limit of tokens is reached while a model still reasons, there
is no answer.
"""

from __future__ import annotations

import re

ALONE = "<think>"  # reasoning and nothing else, where a server has taken it apart
_WORDS = r"(?:think|thinking|thoughts?|reason|reasoning|reflection|seed:think)"
_OPENS = re.compile(  # the last one is what is left of a channel's marks where they are taken for special tokens
    rf"\s*(?:<{_WORDS}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>(?!final)\w+|analysis(?=[A-Z]))"
)
_CLOSES = re.compile(
    rf"</{_WORDS}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final\s*<\|message\|>|assistantfinal"
)
_AROUND = re.compile(r"</?answer>|<\|(?:begin|end)_of_solution\|>|<\|end\|>|<\|return\|>")


def without_reasoning(answer: str) -> str:
    """What stands behind the reasoning; nothing where that does not end, and all of an answer without any."""
    if closings := list(_CLOSES.finditer(answer)):
        return _AROUND.sub("", answer[closings[-1].end() :]).lstrip()
    return "" if _OPENS.match(answer) else answer
