"""Checks of what may leave a node that reads private data: numbers, and figures drawn from numbers.

Every fault has the end of a sentence that begins with the node, and names the data set and the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel

from fedtext.privacy.disclosure_control import MIN_UNITS
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard.private_strings import private_strings
from fedtext.wiring.guard.quotations import comparable, joined, quotes, strings

WORD = re.compile(r"[\w.-]{1,64}")
PHRASE = re.compile(r"[\w .,:;()=%+/'<>&-]{0,200}")


def release_outputs(outputs: Mapping[str, Any]) -> Iterator[RunRefusedError]:
    """Yield what is wrong with a release's outputs beside its ledger: numbers and arrays of numbers are allowed."""
    for name, value in outputs.items():
        if (what := _no_number(value, arrays=True)) is not None:
            yield RunRefusedError(
                f"releases {what} in '{name}': a release gives out numbers; make the text or table in another node",
                code="releases-no-numbers",
            )


def control_outputs(outputs: Mapping[str, Any]) -> Iterator[RunRefusedError]:
    """Yield what is wrong with the outputs of a non-private bound, which evaluations may read."""
    for name, value in outputs.items():
        if (what := _no_number(value, arrays=True)) is not None:
            yield RunRefusedError(
                f"hands {what} to evaluations in '{name}': a control gives out numbers, so return counts or distances",
                code="control-no-numbers",
            )


def count_outputs(outputs: Mapping[str, Any]) -> Iterator[RunRefusedError]:
    """Yield what is wrong with a count of units: whole numbers, and a word or None for their source, are allowed."""
    for name, value in outputs.items():
        fields = dict(value.__dict__) if isinstance(value, BaseModel) else value
        fields = fields if isinstance(fields, Mapping) else {"": fields}
        words = [one for one in fields.values() if isinstance(one, str)]
        numbers = [one for one in fields.values() if not isinstance(one, str)]
        whole = all(one is None or (isinstance(one, int | np.integer) and not isinstance(one, bool)) for one in numbers)
        if not whole or len(words) > 1 or any(not re.fullmatch(r"[a-z_]{1,20}", word) for word in words):
            yield RunRefusedError(
                f"writes more than whole numbers to '{name}': return the numbers of units alone",
                code="count-no-whole-numbers",
            )


def evaluation_outputs(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], declared: Collection[str] = frozenset()
) -> Iterator[RunRefusedError]:
    """Yield what is wrong with the outputs of a held-out evaluation: no part of its private inputs may leave.

    A string of an output may not be one of the inputs' texts, share 30 letters in a row with one, name one of their
    clients, or be a label that few clients have. Nor may the short strings of a list be a text together. Capitals,
    spaces and punctuation do not count. Numbers, figures and wording of our own may leave. Labels of many clients
    identify none of them, even if a client has such a label as its name.

    Args:
        inputs: The private inputs by data set.
        outputs: The outputs by data set.
        declared: Public labels, which may always leave.
    """
    private = private_strings(inputs.values())
    hidden, harmless = private.rare - set(declared), private.common.union(declared)
    texts = {comparable(one) for one in private.texts}
    for name, value in outputs.items():
        figure = type(value).__module__.startswith("plotly.")
        plain = value.to_plotly_json() if figure else value
        if not figure and (what := _no_number(value, arrays=False, phrases=True, known=declared)) is not None:
            yield RunRefusedError(
                f"shows {what} in '{name}': an evaluation gives out numbers and figures, so return aggregates",
                code="shows-no-numbers",
            )
            continue
        said = [one for one in strings(plain) if one not in harmless]
        if quotes([*said, *(joined(plain) - harmless)], texts):
            yield RunRefusedError(
                f"shows held-out text in '{name}': return numbers and figures drawn from numbers",
                code="shows-held-out-text",
            )
        elif any(one in each for each in said for one in private.ids):
            yield RunRefusedError(
                f"shows the id of a held-out client in '{name}': return aggregates over clients", code="shows-client-id"
            )
        elif any(one in hidden for one in said):
            yield RunRefusedError(
                f"shows a label of under {MIN_UNITS} held-out clients in '{name}', which nobody declared: name it in "
                "task.labels, or leave it out",
                code="shows-rare-label",
            )


def _no_number(value: Any, *, arrays: bool, phrases: bool = False, known: Collection[str] = frozenset()) -> str | None:
    """Return the first part of `value` that is not a number, in words; None if all are.

    `phrases` allows short strings of plain characters. `known` are declared labels, which may have any characters.
    """
    if value is None or isinstance(value, bool | int | float | np.number | np.bool_):
        return None
    if isinstance(value, np.ndarray):
        plain = arrays and value.dtype.kind in "biufc"
        return None if plain else f"an array of {value.dtype}"
    if isinstance(value, str) and phrases:
        return None if value in known or PHRASE.fullmatch(value) else "a text"
    if isinstance(value, Mapping):
        if not all(isinstance(key, int) or (isinstance(key, str) and WORD.fullmatch(key)) for key in value):
            return "a text as a key"
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        inner = (_no_number(one, arrays=arrays, phrases=phrases, known=known) for one in value)
        return next((what for what in inner if what is not None), None)
    return f"a {type(value).__name__}"
