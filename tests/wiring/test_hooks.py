"""What is refused before a run, and what MLflow is told."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from kedro.framework.project import pipelines
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Node, Pipeline
from omegaconf import OmegaConf

from fedtext.datasets.models import LanguageModelDataset
from fedtext.models.language_model import bundled
from fedtext.system import file_limit
from fedtext.wiring.config import TRACKING_ROOT, ProjectConfigLoader
from fedtext.wiring.hooks.command import repeating_command
from fedtext.wiring.hooks.preflight import announce_client, check_data_root, check_guarded, check_inputs
from fedtext.wiring.hooks.run_facts import corpus_facts
from fedtext.wiring.hooks.tracking import PARENT_RUN, NestedRuns, _models, flat_parameters, is_gone, process_tags
from tests.contracts.graphs import check_pipeline, check_registered_pipelines
from tests.parameters import parameters
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject

KEDRO = Path(sys.executable).with_name("kedro")


def loader(project: Path) -> ProjectConfigLoader:
    return ProjectConfigLoader(conf_source=str(project / "conf"), base_env="base", default_run_env="local")


def test_a_leak_is_refused_before_anything_is_written(toy: ToyProject) -> None:
    with refuses("private-data-flow") as caught:
        toy.run("leak")
    assert all(name in str(caught.value) for name in ("leak", "private_records", "toy_report"))
    assert not toy.data.exists()


def test_a_refusal_is_one_message_and_exit_code_one(toy: ToyProject) -> None:
    env = {**os.environ, "FEDTEXT_TRACKING": "off"}
    done = subprocess.run(
        [KEDRO, "run", "--pipelines", "leak"], cwd=toy.path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: the privacy flow check refuses this run")
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr + done.stdout


def test_every_registered_pipeline_can_be_checked(toy: ToyProject) -> None:
    loader(toy.path)
    found = check_registered_pipelines(dict(pipelines))
    assert found
    assert all(violation.startswith("leak: ") for violation in found if "released_gone" not in violation)


def test_previews_and_tracking_of_private_data_are_refused(toy: ToyProject) -> None:
    catalog = loader(toy.path)["catalog"]
    pipeline = pipelines["__default__"]
    assert check_pipeline(pipeline, catalog) == []
    metadata = catalog["private_records"]["metadata"]
    metadata["kedro-viz"] = {"preview": True}
    (violation,) = check_pipeline(pipeline, catalog)
    assert violation.dataset == "private_records"
    metadata["kedro-viz"] = {"preview": False}
    for how in ({"tracked": True}, {"metrics": {"rows": "rows"}}):
        metadata["fedtext"] = {"privacy": "private", **how}
        (violation,) = check_pipeline(pipeline, catalog)
        assert violation.dataset == "private_records"


def test_factories_are_classed_by_the_names_they_resolve(toy: ToyProject) -> None:
    catalog = loader(toy.path)["catalog"]
    catalog["{algorithm}.{stage}.scores"]["metadata"]["fedtext"]["privacy"] = "private"
    found = check_pipeline(pipelines["__default__"], catalog)
    assert {"toy.round_01.scores", "toy.round_02.scores"} <= {violation.dataset for violation in found}


def test_missing_inputs_are_named_before_the_run(toy: ToyProject) -> None:
    with refuses("missing-input", value="released_gone"):
        toy.run("needs")


def test_the_command_that_makes_a_missing_input_is_named(toy: ToyProject) -> None:
    last = pipelines["__default__"].only_nodes("toy.report")
    catalog = DataCatalog.from_config(loader(toy.path)["catalog"])
    with refuses("missing-input", value="ledger") as caught:
        check_inputs(last, catalog, {})
    assert "kedro run --pipelines __default__ --to-outputs ledger" in str(caught.value)
    given = {"env": "tiny", "runtime_params": {"toy": {"draws": 6}}, "pipeline_names": ["report"]}
    with refuses("missing-input", value="ledger") as caught:
        check_inputs(last, catalog, given)
    again = "kedro run --pipelines __default__ --to-outputs ledger --env tiny --params toy.draws=6"
    assert again in str(caught.value)


@pytest.mark.usefixtures("toy")
def test_a_value_that_is_not_saved_is_asked_for_by_the_node_that_makes_it() -> None:
    last = Pipeline([Node(flat_parameters, "nobody_saves", "said", name="say")])
    with refuses("unsaved-input", value="nobody_saves"):
        check_inputs(last, DataCatalog({"nobody_saves": MemoryDataset()}), {})
    check_inputs(last, DataCatalog({"nobody_saves": MemoryDataset("here")}), {})


def test_private_data_are_read_under_the_runner_that_guards_nodes(toy: ToyProject) -> None:
    source = pipelines["__default__"].only_nodes("read_private")
    catalog = DataCatalog.from_config(loader(toy.path)["catalog"])
    check_guarded("<fedtext.wiring.runner.ResumableRunner object at 0x1>", source, catalog)
    with refuses("runner-without-guard", value="ThreadRunner"):
        check_guarded("<kedro.runner.thread_runner.ThreadRunner object at 0x1>", source, catalog)


def test_private_data_are_not_read_where_the_system_cannot_refuse_writes(
    toy: ToyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_limit, "ENFORCED", False)  # as on Windows, where there is no module `resource`
    with refuses("writes-cannot-be-refused"):
        toy.run()
    assert not (toy.data / "02_released").exists()


def test_a_data_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refuses("data-root-not-made"):
        check_data_root(tmp_path / "file")


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10 * 2**20))
    with refuses("disk-nearly-full"):
        check_data_root(tmp_path)


def test_who_is_a_client_is_said_before_private_text_is_read_and_in_the_report(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Epsilon protects clients: whoever reads the run must see whether a person or a row is one."""
    (tmp_path / "mine.csv").write_text("text,client_id\na,b\nc,d\n")
    own = parameters()
    own = {**own, "corpus": {**own["corpus"], "source": "table", "path": str(tmp_path / "mine.csv")}}
    reads = Pipeline([Node(lambda corpus: corpus, "params:corpus", "private_records", name="read_private_table")])
    with caplog.at_level(logging.INFO, "fedtext.console"):
        announce_client(reads, own)
        announce_client(Pipeline([]), own)
    assert caplog.messages == ["a client is: each value of column 'client_id'"]
    assert corpus_facts(own)["a client is"] == "each value of column 'client_id'"
    assert str(tmp_path) not in str(corpus_facts(own))
    assert corpus_facts(parameters())["a client is"] is None


def test_parameters_are_flat_and_long_values_split() -> None:
    flat = flat_parameters({"a": {"b": 1, "c": {"d": None}}, "long": "x" * 13000, "none": {}})
    assert flat["a.b"] == "1"
    assert flat["a.c.d"] == "None"
    assert flat["none"] == "{}"
    assert [len(flat[f"long/{i}"]) for i in range(3)] == [6000, 6000, 1000]
    assert "long" not in flat


def test_the_command_to_repeat_a_run_is_one() -> None:
    given = {"compare": {"seeds": "1 2"}, "popri": {"patience": None, "labels": ["tea", "rum"]}, "snapshot": "2025.10"}
    chosen = {"pipeline_names": ["popri"], "tags": (), "to_outputs": ["a", "b"], "from_nodes": ["n"], "env": "tiny"}
    words = shlex.split(repeating_command({**chosen, "runtime_params": {**given, "data_root": "/some where"}}))
    options = "--pipelines popri --from-nodes n --to-outputs a,b --env tiny --params"
    assert " ".join(words[:-1]) == f"kedro run {options}"
    read = OmegaConf.to_container(OmegaConf.from_dotlist(words[-1].split(",")))  # as Kedro reads them
    assert read == {**given, "popri": {"patience": None, "labels": "tea rum"}, "data_root": "/some where"}
    assert repeating_command({}) == "kedro run"


def test_mlflow_gets_parameters_metrics_by_round_and_reports_but_no_private_text(tracked: ToyProject) -> None:
    from mlflow.tracking import MlflowClient

    tracked.run(toy={"draws": 6})
    client = MlflowClient(f"sqlite:///{tracked.data}/mlflow.db")
    experiment = client.get_experiment_by_name(f"fedtext in {tracked.data}")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["toy.draws"] == "6"
    assert run.data.params["privacy.epsilon"] == "1.0"
    assert run.data.tags["command"] == "kedro run --params toy.draws=6"
    assert {"git.revision", "environment.python", "environment.kedro"} <= run.data.tags.keys()
    losses = client.get_metric_history(run.info.run_id, "rounds/loss")
    assert [metric.step for metric in losses] == [1, 2]
    assert run.data.metrics.keys() == {"rounds/loss", "epsilon"}, "what the catalog names, and nothing else"
    assert run.data.metrics["epsilon"] == pytest.approx(1.0)
    assert run.info.run_name == "default, epsilon 1"
    assert [file.path for file in client.list_artifacts(run.info.run_id, "08_reporting")] == ["08_reporting/toy.json"]
    assert [file.path for file in client.list_artifacts(run.info.run_id, "02_released")] == [
        "02_released/mean.safetensors"
    ]
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    for path in [*tracked.data.glob("mlflow.db*"), *(tracked.data / "mlartifacts").rglob("*")]:
        assert not path.is_file() or b"secret-" not in path.read_bytes()

    tracked.run(toy={"draws": 6})  # everything is up to date: the new run still holds the whole curve
    runs = client.search_runs([experiment.experiment_id])
    newest = next(found for found in runs if found.info.run_id != run.info.run_id)
    assert [m.step for m in client.get_metric_history(newest.info.run_id, "rounds/loss")] == [1, 2]


def test_mlflow_is_told_which_models_a_run_reads() -> None:
    catalog = DataCatalog({"generator": LanguageModelDataset(source="bundled:generator"), "table": MemoryDataset(1)})
    reads = Pipeline([Node(lambda a, b: a, ["generator", "table"], "made", name="reads")])
    assert _models(reads, catalog) == {"model.generator": bundled("generator")}


@pytest.mark.slow
def test_a_data_root_that_was_moved_logs_where_it_is(tracked: ToyProject) -> None:
    """MLflow fixes an experiment's artifact location: a moved root gets its own experiment beside the earlier one."""
    from mlflow.tracking import MlflowClient

    tracked.run()
    moved = tracked.path / "else#where"
    tracked.data.rename(moved)
    tracked.run(data_root=moved.name)
    assert not tracked.data.exists()
    assert not (tracked.path / "else").exists(), "a number sign is part of a name"
    client = MlflowClient(f"sqlite:///{moved}/mlflow.db")
    before, after = (
        client.search_runs([client.get_experiment_by_name(f"fedtext in {root}").experiment_id])
        for root in (tracked.data, moved)
    )
    assert [len(before), len(after)] == [1, 1]
    assert before[0].data.metrics == after[0].data.metrics, "what was measured moves along"
    (report,) = client.list_artifacts(after[0].info.run_id, "08_reporting")
    assert report.path == "08_reporting/toy.json"
    for run in (before[0], after[0]):  # the files themselves lie side by side, by run
        assert list((moved / "mlartifacts").glob(f"{run.info.run_id}/**/toy.json"))


def test_a_data_root_that_cannot_be_is_refused_before_mlflow_opens_it(tracked: ToyProject) -> None:
    (tracked.path / "file").write_text("")
    with refuses("data-root-not-made"):
        tracked.run(data_root="file/x")


def test_a_data_root_that_is_a_file_is_refused_in_one_sentence_without_mlflow_too(toy: ToyProject) -> None:
    (toy.path / "file").write_text("")
    with refuses("data-root-is-a-file") as refusal:
        toy.run(data_root="file")
    assert "\n" not in str(refusal.value)


@pytest.mark.slow
def test_runs_started_by_a_run_are_nested_below_it(tracked: ToyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.tracking import MlflowClient

    tracked.run()
    assert PARENT_RUN not in os.environ, "a finished run adopts nobody"
    client = MlflowClient(f"sqlite:///{tracked.data}/mlflow.db")
    experiment = client.get_experiment_by_name(f"fedtext in {tracked.data}").experiment_id
    (parent,) = client.search_runs([experiment])
    monkeypatch.setenv(PARENT_RUN, parent.info.run_id)
    monkeypatch.setenv(TRACKING_ROOT, str(tracked.data))
    tracked.run(data_root=str(tracked.path / "child"))
    assert os.environ[PARENT_RUN] == parent.info.run_id
    child = next(run for run in client.search_runs([experiment]) if run.info.run_id != parent.info.run_id)
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert child.info.run_name == "default, epsilon 1, in child"
    assert not (tracked.path / "child" / "mlflow.db").exists()


@pytest.mark.slow
def test_a_run_says_who_it_is_to_the_processes_it_starts(tracked: ToyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PARENT_RUN, raising=False)
    elsewhere = tracked.path / "records"
    elsewhere.mkdir()
    tracked.run(data_root=str(elsewhere))
    (run_id,) = [run.info.run_id for run in recorded(elsewhere)]
    loader(tracked.path)
    monkeypatch.delenv(TRACKING_ROOT, raising=False)
    runs = NestedRuns()
    runs.adopt_or_join(run_id, "mother")
    assert os.environ[PARENT_RUN] == run_id
    assert os.environ[TRACKING_ROOT] == str(tracked.data)
    runs.detach()
    assert not {PARENT_RUN, TRACKING_ROOT} & os.environ.keys()
    monkeypatch.setenv(TRACKING_ROOT, str(elsewhere))
    runs.adopt_or_join(run_id, "mother")
    runs.detach()
    assert os.environ[TRACKING_ROOT] == str(elsewhere), "what the user set stays"


def recorded(root: Path) -> list[Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{root}/mlflow.db")
    return list(client.search_runs([client.get_experiment_by_name(f"fedtext in {root}").experiment_id]))


def statuses(root: Path) -> dict[str, str]:
    return {run.info.run_id: run.info.status for run in recorded(root)}


def start(toy: ToyProject) -> subprocess.Popen[str]:
    """A run in a process of its own that takes long, when its first node has been recorded."""
    env = {**os.environ, "FEDTEXT_TRACKING": "on", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [KEDRO, "run", "--params", "toy.seconds=60"]
    run = subprocess.Popen(
        command,
        cwd=toy.path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell's background job ignores Ctrl-C, and so would this one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no thread runs here
    )
    until = time.monotonic() + 120
    while not (toy.data / "02_released" / "mean.safetensors").exists():
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.1)
    return run


@pytest.mark.slow
def test_ctrl_c_is_recorded_as_killed_and_said_in_one_sentence(tracked: ToyProject) -> None:
    run = start(tracked)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Error: interrupted; what was done is kept: run the same command to resume" in output
    assert "Traceback" not in output
    assert list(statuses(tracked.data).values()) == ["KILLED"]


@pytest.mark.slow
def test_a_run_that_was_shot_is_marked_killed_by_the_next_one(tracked: ToyProject) -> None:
    run = start(tracked)
    run.kill()
    run.communicate(timeout=60)
    assert list(statuses(tracked.data).values()) == ["RUNNING"]
    tracked.run()
    assert sorted(statuses(tracked.data).values()) == ["FINISHED", "KILLED"]


def test_only_a_process_that_has_certainly_ended_is_gone() -> None:
    mother = psutil.Process().parent()
    assert mother is not None
    own = process_tags()
    hers = {**own, "process.pid": str(mother.pid), "process.started": str(mother.create_time())}
    assert is_gone(own), "an earlier run of this process, or of a container whose processes have the same numbers"
    assert not is_gone(hers)
    assert is_gone({**hers, "process.started": str(mother.create_time() - 3600)}), "a process with a number of before"
    assert not is_gone({**own, "process.host": "elsewhere"})
    assert not is_gone({"process.pid": own["process.pid"], "process.host": own["process.host"]})
    assert not is_gone({})
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert is_gone({**own, "process.pid": str(ended.pid)})


def test_another_data_roots_records_can_be_opened(toy: ToyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    (toy.path / "other").mkdir()
    monkeypatch.setenv(TRACKING_ROOT, "other")
    assert loader(toy.path).tracking_root == toy.path / "other"
    monkeypatch.setenv(TRACKING_ROOT, "othr")
    with refuses("no-such-data-root", value="othr"):
        _ = loader(toy.path).tracking_root


def test_a_failed_run_is_marked_failed(tracked: ToyProject) -> None:
    from mlflow.tracking import MlflowClient

    with pytest.raises(Exception, match=r"missing\.txt"):
        tracked.run(corpus={"path": "missing.txt"})
    client = MlflowClient(f"sqlite:///{tracked.data}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name(f"fedtext in {tracked.data}").experiment_id])
    assert run.info.status == "FAILED"


def test_without_tracking_nothing_of_mlflow_is_written(toy: ToyProject) -> None:
    toy.run()
    assert not [path for path in toy.path.rglob("*ml*") if path.name.startswith(("mlflow.db", "mlruns", "mlartifacts"))]
