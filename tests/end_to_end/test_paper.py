"""`kedro run --env paper` and `--env flexible` to their ends, reports included: each method and entry, in small.

Methods, forms, calibrations and choices are those of conf/paper and conf/flexible, whose commands are run; models and
sizes are small (small_paper.py). Two rounds are the fewest in which an adapter is both trained and trained again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedtext.params.compare import Entry
from fedtext.pipelines.compare.children import merged
from fedtext.wiring.entries_of_models import made_of_models
from fedtext.wiring.own_run import RunParameters
from tests.end_to_end.conftest import ROOT, kedro
from tests.end_to_end.small_paper import KINDS, OF_KINDS, OF_PIPELINE, SMALL
from tests.masked_model import save_masked_model
from tests.paper_commands import printed_commands, without_placeholders

PRINTED = printed_commands()
ALONE = ["popri", "pe", "pe_sft", "dp_fedavg", "dp_ftrl", "zero_shot", "fusegen"]  # conf/paper needs no more for them
FAMILIES = {"popri": "paper", "wasp": "paper", "flexible": "flexible", "dpprefsyn": "paper"}  # of conf/base/compare
# It wants privacy.calibration=exact, which WASP does not: dp_sgd_calm says it, and a name without parameters cannot.
WITH_ITS_OWN = {"dp_sgd_generation"}
# What an entry has most of: its own sizes are the paper's, as those of conf/paper are.
MOST: dict[str, float] = {
    **{
        "rounds": 2,
        "separation": 2,
        "restart": 2,
        "max_clients": 90,
        "local_steps": 2,
        "batch_size": 4,
        "population": 20,
        "clients_per_round": 20,
    },
    **{"synthetic_texts": 12, "texts": 40, "prompts": 12, "validation_share": 0.2},
    "value": 0.01,  # of a gap: the small generator's answers hardly differ
}


def small(pipeline: str, given: dict[str, str], root: Path, **more: Any) -> dict[str, Any]:
    """Parameters of a printed command, in small."""
    told: dict[str, Any] = {}
    for name, value in without_placeholders(given).items():
        nested: Any = yaml.safe_load(value) if value.replace(".", "").isalnum() else value
        for part in reversed(name.split(".")):
            nested = {part: nested}
        told = merged(told, nested)
    masked = {"masked": save_masked_model(root.with_name("masked"), positions=160)}
    classes = {name.removesuffix(".labels"): {"labels": KINDS} for name in given if name.endswith(".labels")}
    own = merged(OF_KINDS if classes else {}, classes, OF_PIPELINE.get(pipeline, {}))
    return merged(told, SMALL, own, {"models": masked, "data_root": str(root)}, more)


def run(pipeline: str, values: dict[str, Any], root: Path, *options: str, env: str = "paper") -> None:
    RunParameters(values).write(settings := root.with_suffix(".yml"))
    done = kedro("run", "--env", env, "--pipelines", pipeline, "--config", str(settings), *options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]


def configured(values: dict[str, Any], place: Path, env: str) -> Path:
    """A copy of the project's configuration whose environment has these values: a comparison hands on few."""
    shutil.copytree(ROOT / "conf", place)
    left = dict(values)
    _lay(place / env / "globals.yml", {"models": left.pop("models")})
    for file in sorted((place / env / "parameters").glob("*.yml")):
        groups = yaml.safe_load(file.read_text("utf-8"))
        _lay(file, {group: left.pop(group) for group in groups if group in left})
    (place / env / "parameters" / "small.yml").write_text(yaml.safe_dump(left), "utf-8")
    for file in sorted(place.glob("*/compare/*.yml")):
        file.write_text(yaml.safe_dump(_shrunk(yaml.safe_load(file.read_text("utf-8")))), "utf-8")
    return place


def _shrunk(value: Any, name: str = "") -> Any:
    """The same entries with at most `MOST` of what they count, and models of the hub replaced by small ones."""
    if isinstance(value, dict):
        return {key: _shrunk(one, str(key)) for key, one in value.items()}
    if name in SMALL["models"] and isinstance(value, str) and "/" in value:
        return SMALL["models"][name]
    return min(value, MOST[name]) if name in MOST and isinstance(value, int | float) else value


def _lay(file: Path, values: dict[str, Any]) -> None:
    file.write_text(yaml.safe_dump(merged(yaml.safe_load(file.read_text("utf-8")), values)), "utf-8")


# Of participation.yml, whose entries differ in numbers alone: one an algorithm and figure.
ASKED = [
    f"{name}_{which}" for name in ("popri", "pe", "dp_fedavg", "dp_ftrl") for which in ("asked_1000", "eps7_of_17000")
]


def entries(family: str, models: dict[str, Any]) -> list[str]:
    """Names of all entries of a comparison, and the algorithms that its claims name without parameters."""
    files = [ROOT / "conf" / env / "compare" / f"{family}.yml" for env in ("base", "paper")]
    file: dict[str, Any] = merged(*(yaml.safe_load(one.read_text("utf-8")) for one in files if one.is_file()))
    made = {part: made_of_models(file[part], models) for part in ("entries", "claims")}
    named = {name: Entry.model_validate(entry) for name, entry in made["entries"].items()}
    claimed = {claim[side] for claim in made["claims"].values() for side in ("better", "worse")}
    alone = claimed & {entry.algorithm for entry in named.values()} - WITH_ITS_OWN
    return list(dict.fromkeys((*sorted(alone), *named, *(ASKED if family == "popri" else ()))))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("pipeline", ALONE)
def test_a_method_ends_in_its_report(tmp_path: Path, pipeline: str) -> None:
    root = tmp_path / "paper"
    run(pipeline, small(pipeline, {}, root), root)
    assert (root / "08_reporting" / pipeline / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_method_whose_held_out_figures_are_paid_for_ends_in_its_report(tmp_path: Path) -> None:
    root = tmp_path / "paper"
    run("popri", small("popri", {}, root, evaluation={"dp": True}), root)
    assert (root / "08_reporting" / "popri" / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("index", range(len(PRINTED)), ids=[f"{one.file}-{one.pipeline}" for one in PRINTED])
def test_a_printed_command_ends_in_its_report(tmp_path: Path, index: int) -> None:
    command, root = PRINTED[index], tmp_path / "paper"
    run(command.pipeline, small(command.pipeline, command.given, root), root, env=command.env)
    assert (root / "08_reporting" / command.pipeline / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_of_a_comparison_is_run_and_compared(tmp_path: Path, family: str) -> None:
    given = next((command.given for command in PRINTED if command.pipeline == family), {})
    root = tmp_path / "paper"
    values = small(family, given, root)
    named = entries(family, values["models"])
    place = values.pop("data_root")
    conf = configured(values, tmp_path / "conf", FAMILIES[family])
    asked = {"data_root": place, "compare": {"algorithms": " ".join(named), "seeds": "1"}}
    run("compare", asked, root, "--conf-source", str(conf), env=FAMILIES[family])
    found = json.loads((root / "08_reporting" / "compare" / "comparison.json").read_text())
    assert set(found["entries"]) == set(named)
