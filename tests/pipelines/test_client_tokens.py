"""The rows of clients who train on their own text: all of it, under their own code, whoever else is there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.pipelines.clients.nodes import tokenise_private_samples, units_of
from fedtext.pipelines.dp_sgd_generation.nodes import tokenise_behind_classes
from tests.parameters import conf_base

LENGTH = 16
TEXTS = [
    "brief",
    "Функция возвращает новый список и не меняет исходный. " * 3,
    "该函数返回一个新的列表。" * 5,
    "a list of items " * 9,
]
HELD = pd.DataFrame({"client_id": ["a", "b", "c", "a"], "text": TEXTS, "label": [None] * 4})


class Trainable:
    """A generator, as far as it is read here."""

    load = staticmethod(LanguageModel("bundled:generator").load)


def rows_of(form: str, held: pd.DataFrame) -> dict[str, np.ndarray]:
    chunking = conf_base(Chunking, length=LENGTH, min_tokens=4)
    if form == "on_device":
        return tokenise_private_samples(held, LanguageModel("bundled:on_device"), chunking)
    return tokenise_behind_classes(held, Trainable(), conf_base(DpSgdGeneration, labels=[]), chunking)  # type: ignore[arg-type]


def tokens_of(form: str, text: str) -> list[int]:
    tokenizer = LanguageModel("bundled:on_device" if form == "on_device" else "bundled:generator").tokenizer()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return [*ids] if form == "on_device" else [*ids, tokenizer.eos_token_id]


@pytest.mark.parametrize("form", ["on_device", "behind_classes"])
def test_every_token_of_a_client_is_a_target_once_under_the_client_s_code(form: str) -> None:
    made, units = rows_of(form, HELD), units_of(HELD)
    assert len(made["features"]) > len(HELD)  # these texts take more tokens than a row has
    for name in ("client", "record"):
        for code in np.unique(units[name]).tolist():
            own = made["features"][made[name] == code]
            texts = [text for text, unit in zip(TEXTS, units[name], strict=True) if unit == code]
            expected = [token for text in texts for token in tokens_of(form, text)]
            assert [token for row in own for token in row[1:].tolist() if token >= 0] == expected


@pytest.mark.parametrize("form", ["on_device", "behind_classes"])
@pytest.mark.parametrize("gone", ["a", "b", "c"])
def test_rows_of_the_others_stay_when_a_client_goes(form: str, gone: str) -> None:
    """Their tokens, codes and width: to the bit."""
    whole, less = rows_of(form, HELD), rows_of(form, HELD[HELD["client_id"] != gone])
    (code,) = np.unique(units_of(HELD)["client"][(HELD["client_id"] == gone).to_numpy()])
    stay = whole["client"] != code
    for name, values in whole.items():
        assert np.array_equal(values[stay], less[name]), name
