"""What travels between server and silos, as bytes: a kind, facts in JSON, and arrays. It carries no code.

The form is that of safetensors, whose metadata hold kind and facts: reading it executes nothing, whoever wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from fedtext.system.errors import InputError

LENGTH = 8  # bytes that hold the length of the header
MOST_BYTES = 2**31  # of one message: far above what any question here needs
SAID = "fedtext"  # the entry of a file's metadata
HELD = "biuf"  # kinds of numbers that travel


class Packed(NamedTuple):
    """A message: what kind it is of, its facts, and its arrays by name."""

    kind: str
    facts: dict[str, Any]
    arrays: dict[str, Shaped[np.ndarray, ...]]


def pack(kind: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None) -> bytes:
    """Return the message as bytes; the same message gives the same bytes."""
    from safetensors.numpy import save

    own = {name: np.ascontiguousarray(array) for name, array in sorted((arrays or {}).items())}
    said = json.dumps({"kind": kind, "facts": facts}, sort_keys=True, allow_nan=False)
    return bytes(save(own, metadata={SAID: said}))  # one entry: the order of several is not fixed


def unpack(data: bytes) -> Packed:
    """Return the message that the bytes are.

    Raises:
        ValueError: they are none, or too many.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        if len(data) > MOST_BYTES:
            raise ValueError
        length = int.from_bytes(data[:LENGTH], "little")
        said = json.loads(json.loads(data[LENGTH : LENGTH + length])["__metadata__"][SAID])
        kind, facts, arrays = said["kind"], said["facts"], load(data)
        if not (isinstance(kind, str) and isinstance(facts, dict)) or any(
            array.dtype.kind not in HELD for array in arrays.values()
        ):
            raise ValueError
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise InputError(
            f"{len(data)} bytes are no message between a server and its silos: both need the same version of fedtext",
            code="no-message",
        ) from None
    return Packed(kind, facts, arrays)
