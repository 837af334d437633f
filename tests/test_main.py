"""`python -m fedtext` is `kedro run`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from fedtext.__main__ import main
from fedtext.cli import run as run_command
from fedtext.cli import with_lists
from tests.refusals import refuses

ROOT = Path(__file__).parents[1]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "FEDTEXT_TRACKING": "off"}
    command = [sys.executable, "-m", "fedtext", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_the_package_runs_pipelines(tmp_path: Path) -> None:
    data_root = tmp_path / "data"
    done = run("--env", "tiny", "--pipelines", "public_text", "--params", f"data_root={data_root}")
    assert done.returncode == 0, done.stderr
    assert (data_root / "02_intermediate" / "public_records.parquet").exists()


def test_a_mistake_is_one_sentence_there_too(tmp_path: Path) -> None:
    done = run("--env", "tiny", "--params", f"data_root={tmp_path},corpus.source=letters")
    assert done.returncode == 1
    assert "corpus.source is 'letters'" in done.stdout + done.stderr


def test_kedro_s_makers_are_told_nothing_where_no_file_of_the_project_says_so(tmp_path: Path) -> None:
    """As of an installed wheel that is run beside its `conf`, where there is no `.telemetry`."""
    asked = (
        "import fedtext.settings; from pathlib import Path; from kedro_telemetry.plugin import "
        "_check_for_telemetry_consent as consent; print(consent(Path.cwd()))"
    )
    env = {name: value for name, value in os.environ.items() if name not in ("DO_NOT_TRACK", "KEDRO_DISABLE_TELEMETRY")}
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, env=env | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split()[-1] == "False", "after what Kedro logs as it is imported"


def test_python_hands_it_the_options_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with refuses("unknown-environment", value="papr"):
        main(["--env", "papr"])


def test_a_value_with_a_number_sign_is_not_cut() -> None:
    context = click.Context(run_command)
    given = with_lists(context, run_command.params[0], "data_root=out/é #1,a.b=x: y")
    assert given == {"data_root": "out/é #1", "a": {"b": "x: y"}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("popri.rounds=1,popri.rounds=2", "popri.rounds 2 times"),
        ("popri.rounds＝1", "its sign is no '='"),
        ("popri.rounds=1,privacy.epsilon＝2", "privacy.epsilon＝2: its sign is no '='"),
        ("corpus.description=mails,privacy.epsilon ＝ 2", "its sign is no '='"),
    ],
)
def test_a_parameter_is_given_once_and_by_a_sign_that_is_read(given: str, said: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        with_lists(click.Context(run_command), run_command.params[0], given)
    assert said in refused.value.message


def test_a_description_may_speak_of_signs() -> None:
    context = click.Context(run_command)
    given = with_lists(context, run_command.params[0], "corpus.description=proofs that a＝b,popri.rounds=2")
    assert given == {"corpus": {"description": "proofs that a＝b"}, "popri": {"rounds": 2}}
