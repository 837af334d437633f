"""What is asked of every model before a run: that samples, and lists of them, fit, and that their script is known."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node

from fedtext.datasets.generators import GeneratorDataset
from fedtext.datasets.models import EncoderDataset, LanguageModelDataset
from fedtext.models.encoder import load_encoder
from fedtext.params.corpus import Corpus
from fedtext.pipelines.clients.nodes import embed_public_samples
from fedtext.wiring.hooks.lengths import check_lengths, check_script
from fedtext.wiring.readers import Reader
from tests.parameters import conf_base, parameters
from tests.refusals import refuses

MODELS = {
    "encoder": EncoderDataset(source="offline"),
    "generator": GeneratorDataset(source="bundled:generator"),
    "on_device": LanguageModelDataset(source="bundled:on_device"),
    "params:chunking": MemoryDataset({}),
}


def asked(length: int, *names: str, **changes: dict[str, Any]) -> None:
    pipeline = Pipeline([node(lambda *_: None, [*names, "params:chunking"], "made")])
    check_lengths(pipeline, DataCatalog(dict(MODELS)), {**parameters(), "chunking": {"length": length}, **changes})


def test_a_long_sample_is_said_to_be_embedded_in_parts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    asked(255, "encoder")
    assert not caplog.messages
    asked(400, "encoder", "generator")
    (said,) = caplog.messages
    assert said.startswith("'encoder' reads 256 tokens at once and chunking.length is 400")


def test_a_model_that_reads_a_sample_whole_refuses_a_longer_one() -> None:
    asked(1000, "on_device")
    with refuses("chunks-too-long"):
        asked(1024, "on_device")


@pytest.mark.parametrize(("group", "longest"), [("pe_sft", 142), ("pe", 301), ("popri", 302)])
def test_lists_fit_up_to_a_length(group: str, longest: int) -> None:
    asked(longest, "generator", f"params:{group}")
    with refuses("list-too-long"):
        asked(longest + 1, "generator", f"params:{group}")


def test_a_describer_is_shown_no_samples() -> None:
    pipeline = Pipeline([node(lambda *_: None, ["describer", "params:popri", "params:chunking"], "made")])
    catalog = DataCatalog({"describer": GeneratorDataset(source="bundled:generator"), **MODELS})
    check_lengths(pipeline, catalog, {**parameters(), "chunking": {"length": 500}})


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("the lift was broken", True),
        ("Der Aufzug war gestern früh außer Betrieb", True),
        ("Лифт вчера не работал", True),
        ("the lift was broken 🙂", True),
        ("ลิฟต์เสียเมื่อวานนี้", False),
        ("电梯昨天坏了没有人来修理", False),
    ],
)
def test_public_texts_of_a_file_are_looked_at(tmp_path: Path, text: str, known: bool) -> None:
    public = tmp_path / "public.csv"
    public.write_text("text\n" + "".join(f"{text} {number}\n" for number in range(12)))
    pipeline = Pipeline([node(lambda *_: None, "encoder", "made", name=Reader.PUBLIC)])
    told = {**parameters(), "corpus": conf_base(Corpus, public_path=str(public)).model_dump()}
    if known:
        check_script(pipeline, DataCatalog(dict(MODELS)), told)
    else:
        with refuses("unknown-script", value="offline"):
            check_script(pipeline, DataCatalog(dict(MODELS)), told)


def test_public_samples_that_a_run_wrote_itself_are_looked_at_before_they_are_embedded() -> None:
    encoder = load_encoder("offline")
    with refuses("unknown-script"):
        embed_public_samples(pd.DataFrame({"text": ["ลิฟต์เสียเมื่อวานนี้", "the lift"]}), encoder)
    assert embed_public_samples(pd.DataFrame({"text": ["the lift was broken"]}), encoder).shape == (1, 384)


def test_what_is_read_of_a_beginning_alone_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    asked(64, "classifier", "params:classification", "params:evaluation")
    assert not caplog.messages
    fine_tuned = {"training": {**parameters()["classification"]["training"], "kind": "fine_tuned"}}
    asked(64, "classifier", "params:classification", classification=fine_tuned)
    assert caplog.messages == [
        "'classifier' reads the first 128 of its tokens of a text (classification.training.length), and not the rest"
    ]
