"""The files of deploy/ are read as Slurm and Kubernetes read them, and start a run that the project knows."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contracts.test_docs import faults

ROOT = Path(__file__).parents[2]


@pytest.fixture
def job() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "deploy/kubernetes.yaml").read_text())
    return loaded


def test_a_pod_runs_a_command_of_the_project_s_alone_and_its_registry_outlives_it(job: dict[str, Any]) -> None:
    assert (job["apiVersion"], job["kind"], job["spec"]["parallelism"]) == ("batch/v1", "Job", 1)
    (pod,) = job["spec"]["template"]["spec"]["containers"]
    assert faults(f"kedro {' '.join(pod['args'])}") == []
    mounts = {one["name"]: one for one in pod["volumeMounts"]}
    kept = [one["mountPath"] for one in pod["volumeMounts"] if one["name"] == "data"]
    state = {one["name"]: one["value"] for one in pod["env"]}["FEDTEXT_STATE"]
    assert [place for place in kept if state.startswith(f"{place}/")]
    assert mounts["private"]["readOnly"]
    assert mounts.keys() == {one["name"] for one in job["spec"]["template"]["spec"]["volumes"]}
    context = job["spec"]["template"]["spec"]["securityContext"]
    assert context["fsGroupChangePolicy"] == "OnRootMismatch", "files that are their owner's alone stay so"
    (rule,) = job["spec"]["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"] == {"containerName": pod["name"], "operator": "In", "values": [1]}


@pytest.mark.parametrize("env", [None, "tiny"])
def test_a_slurm_job_runs_a_command_of_the_project_s(tmp_path: Path, env: str | None) -> None:
    """`srun` is a stand-in that says what it is asked to start."""
    (tmp_path / "srun").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "srun").chmod(0o755)
    own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(ROOT), "SLURM_CPUS_PER_TASK": "16"}
    words = [*([f"ENV={env}"] if env else []), "data_root=/srv/fedtext,privacy.population=20000"]
    done = subprocess.run(
        ["bash", ROOT / "deploy/slurm.sh", *words], env=own, capture_output=True, text=True, check=True
    )
    started = done.stdout.split(".venv/bin/", 1)[1].strip()
    assert started.startswith(f"kedro run {f'--env {env} ' if env else ''}--params engine.name=processes,")
    assert "engine.workers=16,data_root=/srv/fedtext" in started
    assert faults(started) == []


SILOS = ROOT / "deploy" / "silos"


def test_the_server_of_silos_runs_a_command_of_the_project_s_and_shares_a_folder_with_its_superlink() -> None:
    services = yaml.safe_load((SILOS / "server.yaml").read_text())["services"]
    run, superlink = services["run"], services["superlink"]
    assert faults(f"kedro {' '.join(run['command'])}") == []
    told = dict(one.split("=") for one in run["command"][-1].split(","))
    assert "data:/data" in run["volumes"]
    assert "data:/data" in superlink["volumes"], "messages lie there on their way"
    assert run["environment"]["TMPDIR"] == "/data", "a run's temporary folder is where they lie"
    assert told["data_root"].startswith("/data/")
    assert told["federation.superlink"] == "localhost:8000"
    assert run["network_mode"] == "service:superlink"
    (port,) = superlink["ports"]
    assert port.startswith("127.0.0.1:"), "a proxy stands before it"


def test_the_images_of_silos_have_the_pinned_flower_encrypt_and_tell_nobody() -> None:
    from fedtext.silo.supernode import VERSION

    files = {name: (SILOS / f"Containerfile.{name}").read_text() for name in ("silo", "superlink", "server")}
    for name, text in files.items():
        assert "FLWR_TELEMETRY_ENABLED=0" in text, name
        assert "-c constraints-flower.txt" in text or "-c /tmp/constraints-flower.txt" in text, name
        assert "USER " in text.rpartition("RUN")[2], "nobody runs as root"
    assert all(f"flwr=={VERSION}" in files[name] for name in ("superlink", "server"))
    assert f"flwr=={VERSION}" in (ROOT / "constraints-flower.txt").read_text()
    for flag in ("--ssl-certfile", "--enable-supernode-auth", "--disable-runtime-dependency-installation"):
        assert flag in files["superlink"]


def test_an_image_holds_nobody_s_text_and_no_key() -> None:
    """Docker's rules: a later line overrules an earlier one, and nothing is left out that no line names."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert rules[0] == "*", "a table, a silo's folder or a key may lie anywhere beside the project"
    parts = [one.removeprefix("!") for one in rules if one.startswith("!")]
    tracked = subprocess.run(["git", "ls-files", *parts], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(any(f"{file}/".startswith(f"{part}/") for file in tracked.splitlines()) for part in parts)
    assert {"conf", "conf/local/.gitkeep", "pyproject.toml", "src"} <= set(parts)
    for file in (ROOT / "Containerfile", *SILOS.glob("Containerfile.*")):
        copied = [line.split()[1] for line in file.read_text().splitlines() if line.startswith("COPY")]
        assert {*copied, *_constraints(file.read_text())} - {"."} <= set(parts), file


def _constraints(text: str) -> set[str]:
    return {Path(word).name for word in text.split() if word.endswith(".txt")}


def test_git_takes_no_folder_that_a_container_of_silos_mounts() -> None:
    services = [one for name in ("silo", "server") for one in _services(name).values()]
    mounted = [one.split(":")[0] for service in services for one in service["volumes"] if one.startswith("./")]
    assert mounted
    for place in mounted:
        git = ["git", "check-ignore", "--quiet", f"deploy/silos/{place}/any"]
        assert subprocess.run(git, cwd=ROOT, check=False).returncode == 0, place


def test_who_runs_in_a_container_may_write_its_volumes() -> None:
    """A named volume has the owner of the image's folder, and is root's where the image has none."""
    images = {"superlink": SILOS / "Containerfile.superlink", "run": ROOT / "Containerfile"}
    for name, service in _services("server").items():
        text = images[name].read_text()
        owned = text.partition("chown fedtext")[2].splitlines()[0].split()
        named = [one.split(":")[1] for one in service["volumes"] if not one.startswith("./")]
        assert named
        assert set(named) <= set(owned), name
        assert "--uid 1000" in text, "messages between the two are for their owner alone"


def _services(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((SILOS / f"{name}.yaml").read_text())["services"]
    return loaded


def test_a_silo_s_container_writes_its_own_folder_alone() -> None:
    silo = yaml.safe_load((SILOS / "silo.yaml").read_text())["services"]["silo"]
    assert silo["read_only"]
    assert silo["cap_drop"] == ["ALL"]
    assert "ports" not in silo
    assert [one for one in silo["volumes"] if not one.endswith(":ro")] == ["./silo:/silo"]
