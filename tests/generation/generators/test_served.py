"""Texts from servers with weights that are trained here: a real HTTP server answers as vLLM's does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from fedtext.generation.generators.served import ServedGenerator
from fedtext.models import endpoint_retries, served
from fedtext.models.endpoint import KEY, EndpointError
from fedtext.models.generator import Framing, GuidedGenerator, TrainableGenerator
from fedtext.models.served import Servers, adapter_name
from fedtext.params.generation import Sampler
from fedtext.params.training import Lora
from fedtext.system.finished_pieces import keeping_pieces
from fedtext.training.lora import TrainedAdapter, TrainedWeights, adapter_of_zeros
from fedtext.wiring.guard.side_effects import watched
from fedtext.wiring.guard.watch import Watch
from tests.openai_server import serving, written
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.vllm_server import Vllm, digest

SOURCE = "bundled:generator"
SAMPLER = conf_base(Sampler, temperature=0.7, top_p=0.9, min_p=0.0, repetition_penalty=1.0, max_new_tokens=12)
PROMPTS = ["a list", "a value", "an error"]
LORA = Lora(rank=4, alpha=8, dropout=0.0, targets="attention_and_mlp")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(endpoint_retries, "FIRST", 0.001)
    monkeypatch.delenv(KEY, raising=False)
    served._with_own_name.cache_clear()
    yield
    served._with_own_name.cache_clear()


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three adapters, of which the first two hold the same."""
    root = tmp_path_factory.mktemp("adapters")
    zeros = adapter_of_zeros(ServedGenerator(SOURCE), LORA)
    ones = {name: torch.ones_like(weight) for name, weight in zeros.weights.items()}
    found = {"one": zeros, "same": zeros, "other": TrainedAdapter(ones, zeros.config)}
    for name, adapter in found.items():
        adapter.save_pretrained(root / name)
    return {name: root / name for name in found}


def generator(root: Path, *servers: Vllm, **settings: Any) -> ServedGenerator:
    urls = tuple(one.url for one in servers)
    told = {"adapters": root / "shared", "concurrency": 4, "timeout": 60.0, **settings}
    return ServedGenerator(SOURCE, servers=Servers(urls, **told))


def write(asked: ServedGenerator, prompts: list[str] = PROMPTS, responses: int = 3, **framing: Any) -> list[list[str]]:
    return asked.write(prompts, framing=Framing(**framing), responses=responses, sampler=SAMPLER, seed=5, label="texts")


def test_it_can_be_trained_and_not_guided_by_words(tmp_path: Path) -> None:
    one = generator(tmp_path, Vllm(url="http://127.0.0.1:9/v1"))
    assert isinstance(one, TrainableGenerator)
    assert not isinstance(one, GuidedGenerator)
    assert one.identity == "bundled:generator, served"


def test_prompts_are_sent_as_the_tokens_that_are_read_here_and_texts_come_in_their_order(tmp_path: Path) -> None:
    with serving(Vllm()) as server:
        own = generator(tmp_path, server)
        texts = write(own, stops=("End",))
        tokens = [tuple(ids) for ids in own.tokenizer()(PROMPTS)["input_ids"]]
        assert sorted(server.wrote) == sorted(("tiny", ids) for ids in tokens)
        seeds = {body["prompt"]: body["seed"] for _, body, _ in server.asked}
        assert texts == [[written(f"{list(ids)}", seeds[f"{list(ids)}"], i, 12) for i in range(3)] for ids in tokens]
        assert all(body["n"] == 3 and body["stop"] == ["End"] for _, body, _ in server.asked)
        assert write(own, stops=("End",)) == texts


def test_every_setting_of_sampling_is_sent_for_a_server_has_defaults_of_its_own(tmp_path: Path) -> None:
    with serving(Vllm()) as server:
        write(generator(tmp_path, server))
    names = ("temperature", "top_p", "max_tokens", "min_p", "top_k", "repetition_penalty")
    assert {tuple(body[name] for name in names) for _, body, _ in server.asked} == {(0.7, 0.9, 12, 0.0, -1, 1.0)}


def test_an_answer_is_opened_here_and_the_sample_begins_as_it_is_told(tmp_path: Path) -> None:
    with serving(Vllm()) as server:
        own = generator(tmp_path, server)
        texts = write(own, ["x", "y"], 1, lead="<", begun=("Well", "No"))
        read = [own.tokenizer().decode(list(tokens)) for _, tokens in server.wrote]
    assert sorted(text.removeprefix("<bos>") for text in read) == ["x<Well", "y<No"]
    assert [row[0][:5].split()[0].rstrip(".")[:3] for row in texts] == ["<We", "<No"]


def test_an_adapter_is_loaded_once_under_a_name_of_its_content(tmp_path: Path, adapters: dict[str, Path]) -> None:
    with serving(Vllm()) as server:
        own = generator(tmp_path, server)
        plain = write(own)
        texts = {name: write(own.with_adapter(path)) for name, path in adapters.items()}
        assert server.loaded == [adapter_name(adapters["one"]), adapter_name(adapters["other"])]
        assert {model for model, _ in server.wrote} == {"tiny", *server.loaded}
        for name in server.loaded:
            assert server.adapters[name] == tmp_path / "shared" / name
    assert texts["one"] == texts["same"]
    assert plain != texts["one"] != texts["other"]
    assert digest(tmp_path / "shared" / server.loaded[1]) == digest(adapters["other"])


def test_a_name_tells_weights_and_settings_apart(tmp_path: Path, adapters: dict[str, Path]) -> None:
    assert adapter_name(adapters["one"]) == adapter_name(adapters["same"]) != adapter_name(adapters["other"])
    (tmp_path / "adapter_model.safetensors").write_bytes((adapters["one"] / "adapter_model.safetensors").read_bytes())
    settings = (adapters["one"] / "adapter_config.json").read_text()
    (tmp_path / "adapter_config.json").write_text(settings.replace('"lora_alpha": 8', '"lora_alpha": 9'))
    assert adapter_name(tmp_path) != adapter_name(adapters["one"])


def test_several_servers_share_the_requests_and_each_has_the_adapter(tmp_path: Path, adapters: dict[str, Path]) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(Vllm(delay=0.02))) for _ in range(2)]
        own = generator(tmp_path, *servers, concurrency=2).with_adapter(adapters["one"])
        alone = generator(tmp_path, servers[0]).with_adapter(adapters["one"])
        many = [f"request {number}" for number in range(24)]
        texts = write(own, many, 1)
        shares = [len(server.wrote) for server in servers]
        assert sum(shares) == 24
        assert min(shares) >= 4
        assert [server.loaded for server in servers] == [[adapter_name(adapters["one"])]] * 2
        assert max(server.busiest for server in servers) <= 3  # two requests, and once an adapter
        assert write(alone, many, 1) == texts  # which server writes decides nothing by itself


def test_hundreds_of_requests_are_under_way(tmp_path: Path) -> None:
    many = [f"request {number}" for number in range(210)]
    with serving(Vllm(together=200)) as server:
        texts = write(generator(tmp_path, server, concurrency=200), many, 1)
    assert len(texts) == 210
    assert server.busiest == 200


def test_a_server_that_was_started_again_is_given_the_adapter_again(tmp_path: Path, adapters: dict[str, Path]) -> None:
    with serving(Vllm()) as server:
        own = generator(tmp_path, server).with_adapter(adapters["one"])
        with own._asking(own._servers.endpoints(SOURCE), Framing(), SAMPLER) as ask:
            before = ask([1, 2], 1, 0)
            server.restart()
            assert ask([1, 2], 1, 0) == before
    assert server.loaded == [adapter_name(adapters["one"])] * 2


def test_a_key_that_a_server_quotes_when_it_loads_no_adapter_is_hidden(
    tmp_path: Path, adapters: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "max_lora_rank")  # a word of the message
    with serving(Vllm(largest_rank=2)) as server, refuses("adapter-not-loaded") as refused:
        write(generator(tmp_path, server).with_adapter(adapters["one"]))
    assert "is greater than ***" in str(refused.value)


@pytest.mark.parametrize(
    ("server", "code"),
    [
        ({"loads": False}, "server-loads-no-adapters"),
        ({"largest_rank": 2}, "adapter-not-loaded"),
        ({"sees": {"/": Path("/nowhere")}}, "adapter-not-loaded"),
        ({"key": "right"}, "key-refused"),
    ],
    ids=["not started so", "rank", "another folder", "key"],
)
def test_an_adapter_that_is_not_loaded_is_told_with_the_remedy(
    tmp_path: Path, adapters: dict[str, Path], server: dict[str, Any], code: str
) -> None:
    with serving(Vllm(**server)) as there, refuses(code):
        write(generator(tmp_path, there).with_adapter(adapters["one"]))
    assert there.wrote == []


def test_a_server_may_see_the_folder_under_another_path(tmp_path: Path, adapters: dict[str, Path]) -> None:
    with serving(Vllm(sees={"/mnt/adapters": tmp_path / "shared"})) as server:
        assert write(generator(tmp_path, server, seen_as="/mnt/adapters").with_adapter(adapters["one"]))
        assert server.adapters == {adapter_name(adapters["one"]): tmp_path / "shared" / adapter_name(adapters["one"])}


def test_all_weights_of_a_model_are_no_adapter(tmp_path: Path) -> None:
    TrainedWeights({"a": torch.zeros(1)}).save_pretrained(tmp_path / "whole")
    with serving(Vllm()) as server, refuses("served-without-adapter"):
        write(generator(tmp_path, server).with_adapter(tmp_path / "whole"))


def test_a_server_with_another_tokenizer_is_refused(tmp_path: Path) -> None:
    tokenizer = generator(tmp_path, Vllm()).tokenizer()
    with serving(Vllm()) as server:
        generator(tmp_path, server)._servers.check(SOURCE, tokenizer)
    with serving(Vllm(tokenizer="smollm2")) as server, refuses("other-tokenizer"):
        generator(tmp_path, server)._servers.check(SOURCE, tokenizer)


def test_a_server_that_shows_no_tokenizer_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(Vllm(tokenizer=None)) as server:
        own = generator(tmp_path, server)
        own._servers.check(SOURCE, own.tokenizer())
    assert "nobody checks" in caplog.text


def test_a_server_of_another_name_is_asked_by_its_own_and_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(Vllm(models=("large",))) as server:
        assert write(generator(tmp_path, server))
        assert {model for model, _ in server.wrote} == {"large"}
    assert "are these the weights of bundled:generator?" in caplog.text
    with serving(Vllm(models=())) as server, refuses("unknown-model"):
        write(generator(tmp_path, server))


def test_answers_are_kept_as_they_arrive_and_other_servers_go_on(tmp_path: Path) -> None:
    many = [f"request {number}" for number in range(8)]
    with keeping_pieces(tmp_path / "pieces"):
        with serving(Vllm()) as server:
            own = generator(tmp_path, server, concurrency=1)
            whole = write(own, many[:5], 2)
        with serving(Vllm()) as server:
            other = generator(tmp_path, server, concurrency=1)
            assert write(other, many[:5], 2) == whole
            assert server.wrote == []
            assert len(write(other, many, 2)) == 8  # another computation: its pieces are others
            assert len(server.wrote) == 8


def test_after_an_error_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    with keeping_pieces(tmp_path / "pieces"), serving(Vllm()) as server:
        own = generator(tmp_path, server, concurrency=1)
        server.faults = [(400, {})]  # of the first request
        with pytest.raises(EndpointError):
            write(own, PROMPTS, 1)
        assert len(server.wrote) == 1
        texts = write(own, PROMPTS, 1)
        assert len(server.wrote) == 4
        assert write(own, PROMPTS, 1) == texts
        assert len(server.wrote) == 4


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    with serving(Vllm(faults=[(503, {}), (429, {"Retry-After": "0"})])) as server:
        assert len(write(generator(tmp_path, server, concurrency=1))) == 3
        assert len(server.wrote) == 5


def test_a_node_that_reads_private_data_cannot_ask_a_server(tmp_path: Path, adapters: dict[str, Path]) -> None:
    with serving(Vllm()) as server:
        own = generator(tmp_path, server).with_adapter(adapters["one"])
        with (
            watched(Watch("node 'candidates'", reads_private=True, may_read=False, data_root=tmp_path / "root")),
            refuses("side-effect", value="node 'candidates'"),
        ):
            write(own)
        assert (server.wrote, server.loaded) == ([], [])


def test_the_same_servers_in_another_order_are_the_same_generator(tmp_path: Path) -> None:
    one, two = (generator(tmp_path, Vllm(url=f"http://127.0.0.1:{port}/v1")) for port in (8, 9))
    assert one.identity == two.identity
    assert dataclasses.replace(one, temperature=0.5).identity != two.identity
