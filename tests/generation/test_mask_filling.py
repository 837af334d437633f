"""Mask filling with a real, tiny, untrained RoBERTa and a tokenizer of its own, read from a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.generation.mask_filling import fill_masks
from fedtext.models.language_model import MaskedModel
from fedtext.params.generation import MaskFilling
from tests.masked_model import WORDS, save_masked_model
from tests.parameters import conf_base
from tests.refusals import refuses

TEXTS = [" ".join(WORDS[i : i + n]) for i, n in enumerate((20, 3, 1, 12, 30, 7))]


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> MaskedModel:
    return MaskedModel(save_masked_model(tmp_path_factory.mktemp("roberta")))


def filled(masked: MaskedModel, texts: list[str] = TEXTS, length: int = 64, seed: int = 1, **changes: Any) -> list[str]:
    return fill_masks(*masked.load(), texts, conf_base(MaskFilling, changes), length=length, seed=seed)


def test_lengths_stay_and_only_words_are_written(masked: MaskedModel) -> None:
    for before, after in zip(TEXTS, filled(masked), strict=True):
        assert len(after.split()) == len(before.split())
        assert set(after.split()) <= set(WORDS)


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_a_pass_replaces_at_most_the_share_and_one_token_at_least(masked: MaskedModel, share: float) -> None:
    changed = [
        sum(a != b for a, b in zip(before.split(), after.split(), strict=True))
        for before, after in zip(TEXTS, filled(masked, share=share, passes=1), strict=True)
    ]
    for text, count in zip(TEXTS, changed, strict=True):
        assert count <= max(1, int(share * len(text.split())))
    assert sum(changed) >= 0.7 * sum(max(1, int(share * len(t.split()))) for t in TEXTS)  # 40 words: few are redrawn


def test_more_passes_change_more(masked: MaskedModel) -> None:
    def changes(passes: int) -> int:
        pairs = zip(TEXTS, filled(masked, passes=passes), strict=True)
        return sum(a != b for old, new in pairs for a, b in zip(old.split(), new.split(), strict=True))

    assert changes(1) < changes(2) < changes(6)


def test_a_variation_does_not_depend_on_its_batch_and_repeats(masked: MaskedModel) -> None:
    together = filled(masked)
    assert together == filled(masked) == filled(masked, batch_size=2)
    assert together != filled(masked, seed=2)


def test_copies_of_a_text_become_different_variations(masked: MaskedModel) -> None:
    assert len(set(filled(masked, [TEXTS[0]] * 5))) == 5


def test_a_text_is_cut_to_the_length_and_an_empty_one_stays_empty(masked: MaskedModel) -> None:
    assert [len(text.split()) for text in filled(masked, [TEXTS[4], "", TEXTS[1]], length=10)] == [10, 0, 3]
    assert filled(masked, []) == []


def test_more_than_the_model_reads_at_once_is_refused(masked: MaskedModel) -> None:
    with refuses("masked-model-reads-less", parameter="chunking.length", value=79):
        filled(masked, length=79)


def test_a_cold_draw_is_the_most_probable_token_and_masks_see_what_was_filled_before(masked: MaskedModel) -> None:
    """With one mask a pass at temperature near zero the answer can be computed by hand."""
    import torch

    model, tokenizer = masked.load()
    (after,) = filled(masked, [TEXTS[1]], share=0.1, passes=1, temperature=1e-4)
    ids = tokenizer([TEXTS[1]], return_tensors="pt")["input_ids"].to(model.device)
    expected = set()
    for place in (1, 2, 3):
        probe = ids.clone()
        probe[0, place] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(input_ids=probe).logits[0, place]
        logits[:5] = -np.inf
        probe[0, place] = logits.argmax()
        expected.add(tokenizer.decode(probe[0], skip_special_tokens=True))
    assert after in expected


def test_a_model_without_a_mask_or_a_place_is_refused_by_name(tmp_path: Path) -> None:
    from fedtext.models.language_model import bundled

    with refuses("model-unreadable"):
        MaskedModel(bundled("generator")).load()
    with refuses("no-model-directory"):
        MaskedModel(str(tmp_path / "nowhere")).load()
