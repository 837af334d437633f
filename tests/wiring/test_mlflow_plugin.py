"""kedro-mlflow is imported when a run starts; a run that is refused opens no records."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.hooks.tracking import is_tracked
from tests.wiring.conftest import ToyProject, here

ROOT = Path(__file__).parents[2]
ASKED = """
import sys
from kedro.framework.cli.cli import main
try:
    main()
except SystemExit as left:
    print(left.code, *sorted({"mlflow", "kedro_mlflow", "torch", "transformers", "scipy", "sklearn"} & set(sys.modules)))
"""


def imported(*arguments: str) -> str:
    """The exit code of `kedro ARGUMENTS` in the project, and the heavy libraries that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED, *arguments],
        cwd=ROOT,
        env=here() | {"FEDTEXT_TRACKING": "on"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_a_refusal_imports_no_heavy_library(tmp_path: Path) -> None:
    """It is told within two seconds on a machine with nothing else to do: imports are what the first word costs."""
    assert imported("run", "--params", f"data_root={tmp_path / 'root'},privacy.epsilon=-3") == "1"
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("arguments", [("registry", "list"), ("run", "--help")])
def test_a_command_that_starts_no_run_imports_none(arguments: tuple[str, ...]) -> None:
    assert imported(*arguments) == "0"


def test_a_refused_run_opens_no_records(tracked: ToyProject) -> None:
    with pytest.raises(RunRefusedError):
        tracked.run("leak")
    assert not tracked.data.exists()


def test_texts_in_place_of_private_ones_go_to_no_server_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = yaml.safe_load((ROOT / "conf/base/catalog/results.yml").read_text())
    synthetic, scorecard = catalog["{algorithm}_synthetic"], catalog["{algorithm}_scorecard"]
    assert is_tracked(synthetic, public=True)
    assert not is_tracked(synthetic, public=False)
    assert is_tracked(scorecard, public=False)
    assert not is_tracked(catalog["{algorithm}_rounds"], public=True)
    monkeypatch.setenv("FEDTEXT_TRACKING", "texts")
    assert is_tracked(synthetic, public=False)


def test_a_model_trained_on_private_text_goes_to_no_server_even_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = yaml.safe_load((ROOT / "conf/base/catalog/algorithms.yml").read_text())
    policies = yaml.safe_load((ROOT / "conf/base/catalog/dpprefsyn.yml").read_text())
    models = (made["{algorithm}.{stage}.adapter"], policies["{algorithm}_policy"])
    assert all(is_tracked(model, public=True) for model in models)
    monkeypatch.setenv("FEDTEXT_TRACKING", "texts")
    assert not any(is_tracked(model, public=False) for model in models)
    assert is_tracked(made["{algorithm}_ledger"], public=False)
