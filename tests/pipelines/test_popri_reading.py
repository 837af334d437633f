"""Texts for reading are written apart by the bundled generator: at their own temperature, with the release's words."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fedtext.algorithms.popri.steps import draw_prompts
from fedtext.generation.generators.local import LocalGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.for_reading import ForReading
from fedtext.params.training import Lora
from fedtext.pipelines.popri.nodes import write_for_reading, write_guided_for_reading
from fedtext.training.lora import initial_adapter
from tests.algorithms.popri.examples import popri
from tests.parameters import conf_base

POPRI = popri(
    sampler={
        "prompt": "list",
        "temperature": 1.0,
        "repetition_penalty": 1.0,
        "openings": [],
        "max_new_tokens": 24,
        "legible_only": False,  # the bundled generator rarely writes a whole sentence in so few tokens
    }
)
SHOWN = ["Return the number of bytes.", "Raise an error if it is closed.", "Open the file."]
CHUNKING, CHECKPOINT = conf_base(Chunking), {"adapter": 0}


def prompts() -> pd.DataFrame:
    public = pd.DataFrame({"text": SHOWN * 4, "label": None})
    return draw_prompts(public, public.index.to_numpy(), POPRI, "final", 3)


@pytest.fixture(scope="module")
def generator() -> LocalGenerator:
    return LocalGenerator("bundled:generator")


@pytest.fixture(scope="module")
def adapter(generator: LocalGenerator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("adapter") / "round_00"
    initial_adapter(generator, conf_base(Lora), seed=1).save_pretrained(place)
    return place


def reading(temperature: float) -> ForReading:
    return conf_base(ForReading, texts=12, temperature=temperature)


def test_they_are_written_at_their_own_temperature_each_once(generator: LocalGenerator, adapter: Path) -> None:
    calm = write_for_reading(generator, prompts(), CHECKPOINT, POPRI, CHUNKING, reading(1e-6), adapter)
    varied = write_for_reading(generator, prompts(), CHECKPOINT, POPRI, CHUNKING, reading(1.0), adapter)

    assert len(calm) <= 3, "the likeliest text of each prompt"
    assert 9 <= len(varied) <= 12, "four texts of each prompt, but those that are equal"
    assert varied["text"].is_unique
    assert (varied["text"] != "").all()


def test_the_release_s_words_guide_them(generator: LocalGenerator, adapter: Path) -> None:
    wanted = pd.DataFrame(
        {"word": ["socket"], "previous": [None], "anywhere": [12.0], "first": [12.0], "label": [None]}
    )

    guided, plain = (
        write_guided_for_reading(generator, prompts(), CHECKPOINT, POPRI, CHUNKING, reading(1.0), words, adapter)
        for words in (wanted, wanted.assign(anywhere=0.0, first=0.0))
    )

    counts = [int(texts["text"].str.lower().str.count("socket").sum()) for texts in (guided, plain)]
    assert counts[0] > counts[1] + 5, counts


@pytest.mark.parametrize(
    ("prompts", "at_once", "asked"), [(55, 384, (55, 8)), (1250, 384, (400, 1)), (3, 384, (3, 134)), (3, 48, (3, 48))]
)
def test_as_many_are_asked_for_as_people_are_shown_some_of(prompts: int, at_once: int, asked: tuple[int, int]) -> None:
    assert conf_base(ForReading, texts=400).shared_out(prompts, at_once) == asked


def test_first_answers_come_first(generator: LocalGenerator, adapter: Path) -> None:
    texts = write_for_reading(generator, prompts(), CHECKPOINT, POPRI, CHUNKING, reading(1.0), adapter)

    assert texts["response"].is_monotonic_increasing
    assert set(texts["prompt_id"].head(3)) == {0, 1, 2}
