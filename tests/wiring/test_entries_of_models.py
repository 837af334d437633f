"""Entries of comparisons that are named by a placeholder become one for each model that there is."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.params.compare import Claim, Entry
from fedtext.wiring.config import ProjectConfigLoader, loader_for
from fedtext.wiring.entries_of_models import made_of_models
from tests.refusals import refuses

MODELS: dict[str, Any] = {
    "generator": "writer",
    "chunk_tokenizer": None,
    "plms": {"b": {"source": "B", "prompt": "chat", "temperature": 1.5}, "a": "A", "unused": None},
}
OF_ONE = {"algorithm": "pe", "params": {"pe": {"sampler": {"prompt": "{prompt}", "temperature": "{temperature}"}}}}


def made(name: str, value: Any) -> dict[str, Any]:
    return made_of_models({name: value, "plain": {"kept": "{as it is}"}}, MODELS)


def test_a_model_s_entry_has_its_source_and_settings_and_what_it_lacks_is_left_out() -> None:
    models = {"generator": "{source}", "describer": "{generator}", "chunk_tokenizer": "{chunk_tokenizer}"}
    found = made("of_{model}", {**OF_ONE, "params": {**OF_ONE["params"], "models": models}})
    assert found.keys() == {"of_a", "of_b", "plain"}
    assert found["plain"] == {"kept": "{as it is}"}
    assert found["of_a"]["params"]["pe"] == {"sampler": {}}
    assert found["of_b"]["params"] == {
        "pe": {"sampler": {"prompt": "chat", "temperature": 1.5}},
        "models": {"generator": "B", "describer": "writer", "chunk_tokenizer": "writer"},
    }
    Entry.model_validate(found["of_b"])


def test_pairs_and_counts_name_their_models_and_leave_the_others_out() -> None:
    entry = {"algorithm": "wasp", "params": {"models": {"plms": "{models}"}}}
    pair = made("with_{pair}", entry)["with_a_b"]["params"]["models"]["plms"]
    assert pair == MODELS["plms"]
    counted = made("k{count}", entry)
    assert [name for name in counted if name != "plain"] == ["k1", "k2"]
    assert counted["k1"]["params"]["models"]["plms"] == {"a": "A", "b": None, "unused": None}


def test_claims_are_of_the_same_models_and_none_is_of_an_entry_and_itself() -> None:
    claim = {
        "says": "{first} and {second}",
        "better": "w_{pair}",
        "worse": "w_{first}",
        "relation": "more",
        "measures": "",
    }
    found = made("{pair}_first", claim)["a_b_first"]
    assert (found["says"], found["better"], found["worse"]) == ("a and b", "w_a_b", "w_a")
    Claim.model_validate(found)
    counted = made("k_{count}", {**claim, "says": "{count}", "better": "k{count}", "worse": "k1"})
    assert [name for name in counted if name != "plain"] == ["k_2"]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("of_{modle}", {}, "entry-named-by-unknown-placeholder"),
        ("{model}_{pair}", {}, "entry-named-by-unknown-placeholder"),
        ("of_{model}", {"params": {"a": "{sorce}"}}, "unknown-placeholder-of-entry"),
    ],
)
def test_a_misspelt_placeholder_is_refused(name: str, value: Any, code: str) -> None:
    with refuses(code):
        made(name, value)


def test_a_server_is_named_by_its_address() -> None:
    served = {**MODELS, "plms": {"a": {"base_url": "http://localhost:8000/v1", "model": "M"}}}
    entry = {"params": {"models": {"generator": "{source}"}}}
    found = made_of_models({"of_{model}": entry}, served)["of_a"]
    assert found["params"]["models"]["generator"] == "endpoint:M@http://localhost:8000/v1"


@pytest.mark.parametrize("plms", [None, {}, {"a": None}, "faulty"])
def test_without_models_there_are_no_such_entries(plms: Any) -> None:
    assert made_of_models({"of_{model}": OF_ONE, "k{count}": {}, "plain": {}}, {"plms": plms}) == {"plain": {}}


def entries(env: str | None, **models: Any) -> dict[str, Any]:
    loader: ProjectConfigLoader = loader_for(env, {"models": models} if models else {})
    found: dict[str, Any] = loader["parameters"]["compare"]["entries"]
    return found


def test_an_environment_s_models_are_those_of_its_entries() -> None:
    paper = entries("paper")
    assert paper["aug_pe_gpt2"]["params"]["models"]["generator"] == "openai-community/gpt2-xl"
    assert paper["aug_pe_gpt2"]["params"]["pe"]["synthetic_texts"] == 6000
    assert {"wasp_k6", "wasp_gpt2_llama2", "wasp_opt_plain", "pre_text_vicuna", "aug_pe_opt_m10"} < paper.keys()
    assert not any("smollm2" in str(entry["params"].get("models")) for entry in paper.values())
    assert "aug_pe_calm" not in paper


def test_models_of_the_command_line_make_the_entries() -> None:
    given = entries(None, plms={"own": "DIR", "other": "bundled:generator"}, generator="OTHER")
    assert given["aug_pe_own"]["params"]["models"] == {
        "generator": "DIR", "describer": "OTHER", "chunk_tokenizer": "OTHER",
    }  # fmt: skip
    assert {"wasp_k2", "wasp_other_own"} < given.keys()
    assert "aug_pe_calm" not in given
