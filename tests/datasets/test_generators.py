"""Generators and tokenizers as catalog entries: what they load, what they depend on, what is refused before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline, node

from fedtext.datasets.generators import GeneratorDataset, NamedGeneratorDataset, TokenizerDataset
from fedtext.generation.generators.endpoint import EndpointGenerator
from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.generators.served import ServedGenerator
from fedtext.models import served
from fedtext.models.endpoint import EndpointError, _described
from fedtext.models.generator import Generator, GuidedGenerator, TrainableGenerator
from fedtext.models.language_model import LanguageModel, bundled
from fedtext.params.popri import Popri
from fedtext.resuming.decision import settings
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.hooks.generators import check_adapters, check_guided, check_reads_messages, check_trained
from fedtext.wiring.hooks.preflight import check_inputs
from tests.openai_server import Served, serving
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.vllm_server import Vllm

FAR = "endpoint:tiny@http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    for told_once in (_described, served._with_own_name, served._version):
        told_once.cache_clear()


def copied(directory: Path, *, weights: bytes) -> Path:
    """The bundled tokenizer beside other weights."""
    directory.mkdir()
    for path in Path(bundled("generator")).glob("*.json"):
        (directory / path.name).write_bytes(path.read_bytes())
    (directory / "model.safetensors").write_bytes(weights)
    return directory


def test_the_tokenizer_that_cuts_is_the_generator_s_unless_another_is_named(tmp_path: Path) -> None:
    own = TokenizerDataset(generator=bundled("on_device"))
    assert own.load().source == bundled("on_device")
    assert TokenizerDataset(source="bundled:generator", generator="owner/name").load().source == bundled("generator")
    assert TokenizerDataset(generator=FAR).load().source == bundled("generator")
    assert own.exists()
    with refuses("no-model-directory", value="/no/such/model"):
        TokenizerDataset(generator="/no/such/model").exists()
    (tmp_path / "config.json").write_text("{}")
    with refuses("model-unreadable"):
        TokenizerDataset(generator=str(tmp_path)).exists()


def test_a_tokenizer_depends_on_its_files_and_not_on_weights(tmp_path: Path) -> None:
    one, other = (copied(tmp_path / name, weights=name.encode()) for name in ("one", "other"))
    identities = [TokenizerDataset(generator=str(place)).identity() for place in (one, other)]
    assert identities[0] == identities[1]
    (other / "tokenizer_config.json").write_text("{}")
    assert TokenizerDataset(generator=str(other)).identity() != identities[0]


def test_a_local_generator_is_a_handle_with_its_settings() -> None:
    dataset = GeneratorDataset(source="bundled:generator", measure="bundled:on_device", temperature=0.5)
    generator = dataset.load()
    assert isinstance(generator, LocalGenerator)
    assert (generator.source, generator.temperature) == ("bundled:generator", 0.5)
    assert generator.measure is not None
    assert dataset.identity() == Path(bundled("generator"))
    assert dataset.training_fault is None


@pytest.mark.parametrize(
    ("told", "source"),
    [({}, "smollm2"), ({"source": "bundled:generator"}, "bundled:generator")],
    ids=["not said", "said"],
)
def test_another_source_serves_where_none_is_given(told: dict[str, str], source: str) -> None:
    found = GeneratorDataset(otherwise="smollm2", **told)
    assert found.identity() == GeneratorDataset(source=source).identity()


def test_one_of_several_has_a_form_of_its_own_and_one_it_cannot_be_asked_in_is_refused() -> None:
    said = {"own": {"source": "bundled:generator", "prompt": "labelled"}, "none": "bundled:generator"}
    own, none = (NamedGeneratorDataset(name=name, generators=said) for name in said)
    sampler = conf_base(Popri).sampler
    assert own.load().own(sampler) == sampler.for_generator(None, "labelled")
    assert none.load().own(sampler) == sampler
    assert own.shaping() != none.shaping()
    with refuses("unknown-prompt-form", parameter="models.plms.x.prompt", value="chatt"):
        NamedGeneratorDataset(name="x", generators={"x": {"source": "bundled:generator", "prompt": "chatt"}})
    with refuses("no-chat-template"):
        NamedGeneratorDataset(name="x", generators={"x": {"source": "bundled:generator", "prompt": "chat"}}).exists()


def test_a_server_needs_no_other_source() -> None:
    at = GeneratorDataset(base_url="http://localhost:9/v1", model="m", otherwise="smollm2")
    assert at.training_fault == GeneratorDataset(base_url="http://localhost:9/v1", model="m").training_fault


def test_an_endpoint_is_told_by_its_source_or_by_its_fields_and_known_by_what_it_serves() -> None:
    with serving(Served()) as served:
        by_source = GeneratorDataset(source=f"endpoint:tiny@{served.url}")
        by_fields = GeneratorDataset(base_url=served.url, model="tiny", timeout=3.0, api_key_env="OWN")
        for dataset in (by_source, by_fields):
            assert dataset.exists()
            generator = dataset.load()
            assert isinstance(generator, EndpointGenerator)
            assert dataset.identity() == f'endpoint:tiny@{served.url} {{"root": "/weights/tiny"}}'
        assert by_fields.load().endpoint.timeout == 3.0
        with refuses("unknown-model", value="other"):
            GeneratorDataset(source=f"endpoint:other@{served.url}").exists()
    for wrong in ({"base_url": "http://h/v1"}, {"base_url": "http://h/v1", "model": "m", "source": "x/y"}):
        with refuses("endpoint-with-source"):
            GeneratorDataset(**wrong).exists()


def test_how_patiently_a_server_is_asked_shapes_nothing() -> None:
    one, patient, hot = (
        settings(GeneratorDataset(base_url="http://h/v1", model="m", **more))
        for more in ({}, {"timeout": 9.0, "concurrency": 2}, {"temperature": 2.0})
    )
    assert one == patient != hot


def test_a_chat_with_a_model_that_knows_none_is_refused_before_a_run(tmp_path: Path) -> None:
    with refuses("no-chat-template"):
        GeneratorDataset(source="bundled:generator", prompt="chat").exists()
    tokenizer = LanguageModel("bundled:generator").tokenizer()
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    place = copied(tmp_path / "chat", weights=(Path(bundled("generator")) / "model.safetensors").read_bytes())
    tokenizer.save_pretrained(place)
    assert GeneratorDataset(source=str(place), prompt="chat").exists()


def train(generator: TrainableGenerator) -> int:
    return 1


def train_all(prompts: int, *generators: TrainableGenerator, **more: TrainableGenerator) -> int:
    return 1


def only_ask(generator: Generator) -> int:
    return 1


def test_an_algorithm_that_trains_is_refused_an_endpoint_before_it_is_asked() -> None:
    catalog = DataCatalog(
        {"generator": GeneratorDataset(source=FAR), "local": GeneratorDataset(source="bundled:generator")}
    )
    trains = Pipeline([node(train, "generator", "popri.x", name="train", namespace="popri.round_1")])
    with refuses("generator-without-weights", parameter="models.generator"):
        check_trained(trains, catalog)
    for inputs in (["n", "local", "generator"], {"prompts": "n", "far": "generator"}):
        with refuses("generator-without-weights"):
            check_trained(Pipeline([node(train_all, inputs, "y", name="all")]), catalog)
    check_trained(Pipeline([node(only_ask, "generator", "x"), node(train, "local", "y")]), catalog)


def test_one_server_under_several_names_is_told_once() -> None:
    one = GeneratorDataset(base_url="http://127.0.0.1:9/v1", model="tiny", attempts=1)
    asked = Pipeline([node(only_ask, name, f"x_{name}", name=name) for name in ("generator", "describer")])
    with pytest.raises(RunRefusedError) as refused:
        check_inputs(asked, DataCatalog({"generator": one, "describer": one}), {})
    assert str(refused.value).startswith("describer, generator: endpoint 'tiny' at http://127.0.0.1:9/v1 cannot be")
    assert str(refused.value).count("cannot be reached") == 1


def test_a_server_that_is_not_there_is_told_before_a_run() -> None:
    with refuses("unreadable-input", value=["generator"]):
        check_inputs(
            Pipeline([node(only_ask, "generator", "x")]),
            DataCatalog({"generator": GeneratorDataset(base_url="http://127.0.0.1:9/v1", model="tiny", attempts=1)}),
            {},
        )
    with pytest.raises(EndpointError):
        GeneratorDataset(source=FAR).identity()


def guide(generator: GuidedGenerator, popri: int) -> int:
    return 1


def served_by(*urls: str, **told: object) -> GeneratorDataset:
    return GeneratorDataset(source=f"served:bundled:generator@{'+'.join(urls)}", served={"adapters": "/a", **told})


def test_a_served_generator_is_its_weights_but_for_who_writes() -> None:
    with serving(Vllm()) as one, serving(Vllm(version="0.33.0")) as two:
        dataset = served_by(one.url, two.url, concurrency=7, seen_as=None)
        assert dataset.exists()
        generator = dataset.load()
        assert isinstance(generator, ServedGenerator)
        assert generator.source == "bundled:generator"
        assert generator.servers is not None
        assert generator.servers.base_urls == (one.url, two.url)
        assert (generator.servers.concurrency, generator.servers.adapters) == (7, Path("/a"))
        local = GeneratorDataset(source="bundled:generator")
        assert dataset.identity() == local.identity()
        assert dataset.context == local.context
        assert (dataset.is_server, dataset.training_fault, local.is_server) == (True, None, False)
        assert settings(dataset)["served"] == "['0.32.0', '0.33.0']"
        assert settings(served_by(two.url, one.url)) == settings(dataset) != settings(served_by(one.url))
        cuts = TokenizerDataset(generator=f"served:bundled:generator@{one.url}")
        assert cuts.identity() == TokenizerDataset(generator="bundled:generator").identity()


def test_a_served_generator_is_checked_before_a_run() -> None:
    with refuses("no-adapters-folder"):
        GeneratorDataset(source=FAR.replace("endpoint:tiny", "served:bundled:generator")).load()
    with serving(Vllm(tokenizer="smollm2")) as other, pytest.raises(DatasetError, match="another tokenizer"):
        served_by(other.url).exists()
    with pytest.raises(DatasetError, match="cannot be reached"):
        served_by("http://127.0.0.1:9/v1", attempts=1).exists()


@pytest.mark.parametrize(
    ("source", "weights", "urls"),
    [
        ("served:smollm2@http://h:8000/v1", "smollm2", ("http://h:8000/v1",)),
        ("served:o/m@REV@https://h/v1+http://g:1/v1", "o/m@REV", ("https://h/v1", "http://g:1/v1")),
        ("served:/models/a@b@http://h/v1", "/models/a@b", ("http://h/v1",)),
    ],
)
def test_a_served_source_names_weights_and_addresses(source: str, weights: str, urls: tuple[str, ...]) -> None:
    assert served.split_source(source) == (weights, urls)
    assert served.weights_of(source) == weights


@pytest.mark.parametrize("source", ["served:smollm2", "served:@http://h/v1", "served:smollm2@ftp://u:secret@h/v1"])
def test_a_source_that_names_no_server_is_refused_without_showing_a_secret(source: str) -> None:
    with refuses("not-served") as refused:
        GeneratorDataset(source=source)
    assert "secret" not in str(refused.value)


def test_a_downstream_model_without_a_chat_template_is_not_asked_in_messages() -> None:
    downstream = DataCatalog({"downstream": GeneratorDataset(source="bundled:generator")})
    pipeline = Pipeline([node(guide, ["downstream", "params:dpprefsyn"], "x", name="prefer")])

    def asked(**group: Any) -> None:
        check_reads_messages(pipeline, downstream, {"dpprefsyn": group})

    for refused in ({"chat": True}, {"chat": None, "sampler": {"prompt": "chat"}}):
        with refuses("downstream-does-not-chat", parameter="dpprefsyn.chat"):
            asked(**refused)
    asked(chat=False, sampler={"prompt": "chat"})
    asked(chat=None, sampler={"prompt": "list"})
    with refuses("downstream-does-not-chat", parameter="dpprefsyn.sampler.prompt"):
        asked(sampler={"prompt": "chat"})
    with refuses("downstream-does-not-chat", parameter="dpprefsyn.membership.chat"):
        asked(sampler={"prompt": "list"}, membership={"measured": True, "chat": True})
    chats = DataCatalog({"downstream": GeneratorDataset(source="smollm2")})
    check_reads_messages(pipeline, chats, {"dpprefsyn": {"chat": True}})


def test_words_are_guided_and_all_weights_trained_only_where_texts_are_written_here() -> None:
    catalog = DataCatalog(
        {"far": served_by("http://127.0.0.1:9/v1"), "near": GeneratorDataset(source="bundled:generator")}
    )

    def graph(name: str) -> Pipeline:
        return Pipeline([node(guide, [name, "params:flexible"], "x", name="guide")])

    with refuses("generator-not-guided", parameter="popri.word_guidance"):
        check_guided(graph("far"), catalog)
    check_guided(graph("near"), catalog)
    with refuses("served-without-adapter", parameter="flexible.lora"):
        check_adapters(graph("far"), catalog, {"flexible": {"lora": None}})
    check_adapters(graph("far"), catalog, {"flexible": {"lora": {"rank": 4}}})
    with refuses("served-without-adapter", parameter="flexible.preference.lora"):
        check_adapters(graph("far"), catalog, {"flexible": {"preference": {"lora": None}}})
    check_adapters(graph("near"), catalog, {"flexible": {"lora": None}})
