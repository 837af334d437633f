"""`kedro run --pipelines pretrain` as a user runs it, at a thousandth of its size: models that the jobs can load."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.generation.generators.local import sample_responses
from fedtext.models.language_model import LanguageModel
from fedtext.params.generation import Sampler
from tests.end_to_end.conftest import kedro, params
from tests.parameters import conf_base

SMALL = {
    "pretrain__public_chars_per_package": 8000,
    "pretrain__vocab_size": 600,
    "pretrain__held_out_share": 0.1,
    "pretrain__general__texts": 30,
    "pretrain__general__described__topics__count": 10,
    "pretrain__general__described__topics__lists": 6,
    "pretrain__generator__shape__hidden_size": 48,
    "pretrain__generator__shape__layers": 1,
    "pretrain__generator__tokens": 60_000,
    "pretrain__generator__compiled": "false",
    "pretrain__on_device__tokens": 20_000,
}


@pytest.mark.slow
def test_it_makes_two_models_with_cards_that_load_and_write(tmp_path: Path) -> None:
    done = kedro("run", "--pipelines", "pretrain", "--params", params(data_root=tmp_path, **SMALL))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for name, tokens in (("generator", "59,904 tokens"), ("on_device", "20,020 tokens")):
        made = tmp_path / "06_models" / "pretrained" / name
        card = (made / "README.md").read_text("utf-8")
        assert tokens in card
        assert "held-out next-token accuracy" in card
        model, tokenizer = LanguageModel(str(made)).load()
        assert len(tokenizer) == 600
        short = conf_base(Sampler, temperature=1.0, top_p=1.0, max_new_tokens=5, batch_size=4)
        (texts,) = sample_responses(model, tokenizer, ["Return the"], responses=2, sampler=short, seed=0)
        assert len(texts) == 2
