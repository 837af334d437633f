"""A real run of DP-FT on a table of pairs, with the bundled generator: two halves, a policy, a report; bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedtext.models.language_model import LanguageModel
from tests.end_to_end.conftest import kedro, params
from tests.end_to_end.test_dpprefsyn import SECRET, table


def job(root: Path, **more: object) -> list[str]:
    given = {"data_root": root, "privacy__noise_seed": 7, "privacy__aggregation": "trusted",
             "corpus__source": "table", **more}  # fmt: skip
    return ["run", "--env", "tiny", "--pipelines", "dp_ft", "--params", params(**given)]


@pytest.mark.slow  # test_dpprefsyn.py runs a job on pairs at every commit
@pytest.mark.parametrize("form", ["private", "unprotected"])
def test_a_tiny_run_ends_in_a_policy_and_says_what_it_cost(tmp_path: Path, form: str) -> None:
    root, path = tmp_path / "dp_ft", table(tmp_path / "pairs.csv")
    done = kedro(*job(root, corpus__path=path, corpus__declared_public="true", dp_ft__form=form))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    reported = root / "08_reporting" / "dp_ft"
    report = json.loads((reported / "privacy_report.json").read_text())
    card = json.loads((reported / "scorecard.json").read_text())
    if form == "private":
        assert [release["name"] for release in report["releases"]] == ["dp_ft.sft", "dp_ft.dpo"]
        assert report["epsilon"] <= 8.0 + 1e-9  # of one half, and not of both together
    else:
        assert [entry["name"] for entry in report["unaccounted"]] == ["dp_ft.sft", "dp_ft.dpo"]
        assert "no finite ε" in card["headline"][1]
    assert set(card["accuracy"]["conditions"]) == {"policy", "longer", "shorter"}
    page = (reported / "report.html").read_text()
    assert "trained policy orders" in page
    assert SECRET not in page
    policy = LanguageModel("bundled:generator").with_adapter(root / "07_model_output" / "dp_ft" / "policy")
    assert policy.load()[0] is not None


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"privacy__aggregation": "secure"}, "set privacy.aggregation to trusted"),
        ({"privacy__unit": "record", "privacy__adjacency": "replace_one"}, "may change halves"),
        ({"dp_ft__tokens__prompt": 9999}, "lower dp_ft.tokens.prompt"),
        ({"dp_ft__form": "public"}, "dp_ft.form"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(tmp_path: Path, cli: Any, wrong: dict[str, object], said: str) -> None:
    path = table(tmp_path / "pairs.csv")
    done = cli(*job(tmp_path / "none", corpus__path=path, corpus__declared_public="true", **wrong))
    assert done.code != 0
    assert said in done.text
    assert "Traceback" not in done.text
