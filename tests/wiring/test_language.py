"""Before a run, one sentence says which models do not know the language of the texts, and names some that do."""

from __future__ import annotations

from typing import Any

import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node

from fedtext.datasets.generators import GeneratorDataset
from fedtext.datasets.models import EncoderDataset
from fedtext.models.languages import THAT_WRITES, known_languages
from fedtext.models.reading_limits import MULTILINGUAL
from fedtext.params.corpus import Corpus
from fedtext.wiring.hooks.language import warn_of_language
from tests.parameters import conf_base, parameters

FRENCH = "messages que des clients envoient à une boutique en ligne"


def said(caplog: pytest.LogCaptureFixture, described: str, models: dict[str, Any], **corpus: Any) -> list[str]:
    told = {**parameters(), "corpus": conf_base(Corpus, description=described, **corpus).model_dump()}
    catalog = DataCatalog({**models, "params:corpus": MemoryDataset({})})
    caplog.clear()
    warn_of_language(Pipeline([node(lambda *_: None, [*models, "params:corpus"], "made")]), catalog, told)
    return caplog.messages


def test_models_of_english_alone_are_named_in_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    smollm2 = GeneratorDataset(source="smollm2")
    models = {"describer": smollm2, "encoder": EncoderDataset(source="offline"), "generator": smollm2}
    (sentence,) = said(caplog, FRENCH, models)
    assert sentence == (
        "the texts are to be in French, and offline reads English alone, and smollm2 writes English alone: take "
        f"models.encoder={MULTILINGUAL} and models.generator={THAT_WRITES}, or other models that know it "
        "(docs/data/lengths.md)"
    )


def test_english_and_what_tells_nothing_are_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    models = {"generator": GeneratorDataset(source="smollm2")}
    assert not said(caplog, "messages that customers send to an online shop", models)
    assert not said(caplog, "mails", models)
    assert said(caplog, "mails", models, openings="Ma commande; Je voudrais")


def test_of_a_model_of_ones_own_nothing_is_claimed(caplog: pytest.LogCaptureFixture) -> None:
    assert not said(caplog, FRENCH, {"generator": GeneratorDataset(source="./smollm2")})
    assert not said(caplog, FRENCH, {"generator": GeneratorDataset(source=THAT_WRITES)})


def test_one_of_several_generators_is_named_by_its_parameter(caplog: pytest.LogCaptureFixture) -> None:
    (sentence,) = said(caplog, FRENCH, {"plm_calm": GeneratorDataset(source="bundled:generator")})
    assert f"take models.plms.calm={THAT_WRITES}, or" in sentence


@pytest.mark.parametrize(
    ("model", "known"),
    [
        *((name, True) for name in ("smollm2", "smollm2:135m", "HuggingFaceTB/SmolLM2-1.7B-Instruct@main", "offline")),
        *((name, True) for name in ("bundled:generator", "sentence-transformers/all-MiniLM-L6-v2")),
        *((name, False) for name in (THAT_WRITES, MULTILINGUAL, "./smollm2", "/models/SmolLM2-135M", "offliner")),
    ],
)
def test_languages_are_stated_of_known_models(model: str, known: bool) -> None:
    assert (known_languages(model) is not None) == known


def test_a_server_is_known_by_its_model(caplog: pytest.LogCaptureFixture) -> None:
    assert said(caplog, FRENCH, {"generator": GeneratorDataset(source="endpoint:smollm2:135m@http://localhost:9/v1")})
    assert not said(caplog, FRENCH, {"generator": GeneratorDataset(source="endpoint:qwen2.5@http://localhost:9/v1")})
