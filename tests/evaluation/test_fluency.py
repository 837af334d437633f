"""Nats a byte, against a loop over tokens."""

from __future__ import annotations

import pytest
import torch

from fedtext.evaluation.fluency import nats_per_byte
from fedtext.models.language_model import LanguageModel
from tests.refusals import refuses

MODEL = LanguageModel("bundled:generator")
TEXTS = ["Return the list of names.", "Raises an error if the file is not there, or if it cannot be read."]


def test_it_is_the_cross_entropy_of_all_tokens_over_all_bytes() -> None:
    model, tokenizer = MODEL.load()
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    nats = 0.0
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            logits = model(torch.tensor([[start, *ids]], device=model.device)).logits[0, :-1].float().cpu()
        nats += float(torch.nn.functional.cross_entropy(logits, torch.tensor(ids), reduction="sum"))
    assert nats_per_byte(MODEL, TEXTS) == pytest.approx(nats / sum(map(len, TEXTS)), rel=1e-4)


def test_a_text_is_cut_before_its_bytes_are_counted() -> None:
    once = nats_per_byte(MODEL, TEXTS[:1], length=4)
    assert nats_per_byte(MODEL, [TEXTS[0] + " And more." * 50], length=4) == pytest.approx(once, rel=1e-6)


def test_nothing_to_look_at_is_refused() -> None:
    with refuses("no-texts-to-know"):
        nats_per_byte(MODEL, [])
