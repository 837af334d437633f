"""Small parameters and made-up texts on two subjects."""

from __future__ import annotations

from typing import Any

from fedtext.params.ctcl import Ctcl
from tests.parameters import conf_base

SEA = [
    "The ship left the harbour in the rain.",
    "A ship in the harbour has two anchors.",
    "The harbour was full of fog.",
]
LAND = [
    "The farm has a field of wheat in the valley.",
    "Wheat in the field is ripe.",
    "The field near the farm was full.",
]


def ctcl(**changes: Any) -> Ctcl:
    small = {"topics": 2, "keywords": 3, "synthetic_texts": 12, "final_responses": 2}
    return conf_base(Ctcl, {**small, **changes})
