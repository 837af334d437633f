"""conf/paper names models that can be read here, and a command that it prints names the models of its own paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contracts import graphs
from tests.paper_commands import Command, files_of_parameters, printed_commands

CONF = Path(__file__).parents[2] / "conf"
# Ids that publish their weights as pickles only, which fedtext.models refuses, each with the source of that claim.
PICKLED = {
    "lmsys/vicuna-7b-v1.5": "its ten files as github.com/sieve-community/examples, visual_qa/cogvlm, lists them",
    "lmsys/vicuna-13b-v1.5": "github.com/vllm-project/vllm/issues/3329",
    "facebook/opt-6.7b": "pytorch_model-0000n-of-00002.bin alone, as run logs list its files (docs/decisions/0049)",
}
SOURCE = re.compile(r"(?<![\w:/@.])(?P<endpoint>endpoint:)?(?P<id>[\w.-]+/[\w.-]+)")
# Whose models conf/paper/globals.yml has: generator, encoder and masked model of POPri, the rest of WASP.
OF_POPRI = ["popri", "pe", "dp_ftrl"]  # files whose printed commands are its, or one of its baselines'
OWN = {
    **dict.fromkeys(("generator", "encoder", "masked"), OF_POPRI),
    "classifier": [*OF_POPRI, "wasp", "dp_sgd_generation"],
}


def sources(told: Any) -> list[str]:
    """All texts in nested settings."""
    if isinstance(told, dict):
        return [source for value in told.values() for source in sources(value)]
    return [told] if isinstance(told, str) else []


def test_no_named_model_is_known_to_publish_pickles_only() -> None:
    named = [
        s for file in CONF.glob("*/globals.yml") for s in sources(yaml.safe_load(file.read_text())["models"] or {})
    ]
    named += [value for one in printed_commands() for name, value in one.given.items() if name.startswith("models.")]
    assert "meta-llama/Meta-Llama-3-8B" in named
    assert "openai-community/gpt2" in named
    assert not PICKLED.keys() & set(named)
    served = {match["id"] for source in named if (match := SOURCE.match(source)) and match["endpoint"]}
    assert {"lmsys/vicuna-7b-v1.5", "facebook/opt-6.7b"} <= served


@pytest.mark.parametrize("command", printed_commands(), ids=lambda one: f"{one.file}-{one.pipeline}")
def test_a_printed_command_leaves_no_other_paper_s_model_in_place(command: Command) -> None:
    """Those of the environment `flexible` are its own paper's."""
    job = graphs.registered(command.env)[command.pipeline]
    read = {"masked" if name == "masked_model" else name for name in job.inputs()} & OWN.keys()
    other = {name for name in read if command.file not in OWN[name] and command.env == "paper"}
    assert {f"models.{name}" for name in other} <= command.given.keys()


def test_commands_are_found_in_every_file_that_prints_one() -> None:
    files = {file.stem for file in files_of_parameters() if "kedro run --env" in file.read_text()}
    assert files == {one.file for one in printed_commands()} >= {"flexible", "wasp", "dpprefsyn", "dp_ft", "pe"}
