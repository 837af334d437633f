"""The card of a language model: front matter that a hub reads, and measured numbers below it."""

from __future__ import annotations

import yaml

from fedtext.models.language_model import LanguageModel, bundled
from fedtext.params.training import Pretraining
from fedtext.reporting.model_card import Reading, model_card
from tests.parameters import conf_base


def test_a_card_has_front_matter_and_what_was_measured() -> None:
    model, tokenizer = LanguageModel(bundled("on_device")).load()
    recipe = conf_base(Pretraining).on_device
    read = Reading("docstrings & <b>prose</b>", "English")
    history = [{"step": 1200.0, "loss": 2.34567}]
    card = model_card("on-device model", read, model, tokenizer, recipe, 1_234_567, history, ["Return the list."], 16)
    front, text = card.removeprefix("---\n").split("---\n", 1)
    assert yaml.safe_load(front)["license"] == "apache-2.0"
    assert text.startswith("\n# fedtext on-device model\n")
    assert "| training text | docstrings & <b>prose</b> |" in text
    assert f"| tokens, steps | 1,234,567 tokens, 1,200 steps of {recipe.training.batch_size} rows |" in text
    assert "| last training loss | 2.346 nats a token |" in text
    assert f"vocabulary {len(tokenizer)} |" in text
