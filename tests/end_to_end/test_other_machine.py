"""A job that is killed on one machine goes on on another, over the same data root under another path.

The machines differ in their host name, in where the checkout, the environment, the texts and the data root lie, and in
their user's state. Both are processes of this machine: the second has a host name of its own where the system lets it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import pytest

from fedtext.privacy.history import release_history
from tests.end_to_end.conftest import LOG, ROOT, digests, params
from tests.end_to_end.test_own_table import HOLD_TEXT, SMALL, texts

CHECKOUT = ("src", "conf", "pyproject.toml")
RELEASED = "05_model_input/popri/released_mean.safetensors"
HAS_OWN_NAMES = not subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode


@dataclass(frozen=True)
class Machine:
    """A checkout, an environment, texts and a user of their own below `root`; the data root lies at `data`."""

    root: Path
    host: str
    data: Path

    @cached_property
    def python(self) -> Path:
        """Its interpreter: an environment that imports this machine's packages, and its own checkout before them."""
        own = self.root / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", own], check=True)
        (packages,) = own.glob("lib/python*/site-packages")
        others = [path for path in sys.path if path.endswith("site-packages")]
        (packages / "all.pth").write_text("\n".join([str(self.checkout / "src"), *others]))
        return own / "bin" / "python"

    @cached_property
    def checkout(self) -> Path:
        """A copy of the project."""
        own = self.root / "fedtext"
        for name in CHECKOUT:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            own.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, own / name)
        return own

    def start(self) -> subprocess.Popen[str]:
        """Start the job there."""
        private = self.root / "private"
        private.mkdir(parents=True, exist_ok=True)
        ids = [f"person-{i}" for i in range(HOLD_TEXT)] * 2
        for name, kind in (("mine", "private"), ("public", "public")):
            frame = {"client_id": ids, "text": texts(kind, len(ids))}
            pd.DataFrame(frame).to_csv(private / f"{name}.csv", index=False)
        told = params(
            corpus__source="table",
            corpus__path=private / "mine.csv",
            corpus__public_path=private / "public.csv",
            privacy__population=HOLD_TEXT,
            data_root=self.data,
            **SMALL,
        )
        made = "popri_synthetic,popri_privacy_report"
        job = [self.python, "-m", "kedro", "run", "--env", "tiny", "--to-outputs", made, "--params", told]
        named = f'hostname {self.host} && exec "$@"'
        job = ["unshare", "--uts", "sh", "-c", named, "sh", *job] if HAS_OWN_NAMES else job
        return subprocess.Popen(job, cwd=self.checkout, env=self._environment(), text=True, stderr=subprocess.PIPE,
                                stdout=subprocess.PIPE, start_new_session=True)  # fmt: skip

    def finish(self) -> list[str]:
        """Run the job to its end there; returns the nodes that ran."""
        (self.data / LOG).unlink(missing_ok=True)
        job = self.start()
        _, complained = job.communicate()
        assert job.returncode == 0, complained[-3000:]
        return re.findall(r"Node \d+ of \d+, (\S+):", (self.data / LOG).read_text())

    def _environment(self) -> dict[str, str]:
        home = self.root / "home"
        home.mkdir(exist_ok=True)
        mine = {"HOME": home, "FEDTEXT_STATE": home / "state", "XDG_CACHE_HOME": home / "cache"}
        off = {"FEDTEXT_PROGRESS": "0", "FEDTEXT_TRACKING": "off", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
        return {**os.environ, **off, **{name: str(path) for name, path in mine.items()}}


@pytest.mark.slow
@pytest.mark.parametrize("marker", [".fedtext/releases.jsonl", "05_model_input/popri/round_01"])
def test_a_job_killed_on_one_machine_goes_on_on_another(tmp_path: Path, marker: str) -> None:
    one = Machine(tmp_path / "one", "one", tmp_path / "one" / "data")
    other = Machine(tmp_path / "other" / "home of somebody", "other", tmp_path / "mnt" / "store" / "team data")
    job = one.start()
    while job.poll() is None and not list(one.data.glob(marker)):
        time.sleep(0.02)
    os.killpg(job.pid, signal.SIGKILL)
    job.communicate()
    assert job.returncode == -signal.SIGKILL, f"it ended before there was a {marker}"
    if HAS_OWN_NAMES:
        assert json.loads((one.data / ".fedtext/lock_holder.json").read_text())["host"] == "one"
    left = digests(one.data)
    shutil.copytree(one.data, other.data)
    shutil.move(one.root, off := tmp_path / "switched off")
    ran_there = other.finish()
    assert not one.root.exists(), "nothing names the other machine's paths"
    shutil.move(off, one.root)
    ran_here = one.finish()
    assert digests(other.data) == digests(one.data) != left
    again = {"read_private_table", "read_public_records"}  # files of other names, with the same content
    assert [name for name in ran_there if name not in again] == ran_here, "nothing else is done again"
    for root in (one.data, other.data):
        assert len(release_history(root)) == 1, "one release, charged once"
