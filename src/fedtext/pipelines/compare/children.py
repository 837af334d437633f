"""One run of a comparison: a `kedro run` in a process of its own, and the results that the comparison reads.

A process of its own gives its memory back, checks its own privacy flow and resumes exactly, so that a comparison that
was killed takes its run with it and goes on where it stopped. Runs of one seed share a data root: corpus, partition,
embeddings and the baselines are made once. An entry with parameters of its own gets its own data root, which starts as
hard links to the files of an earlier one: results that do not depend on its parameters are up to date there. The noise
key comes along, so a release that does not depend on them is the same bytes, hence the same release, and not a second
one.

A run's process ends when the comparison's does, however that ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.params.compare import FIXED_SEEDS, Entry
from fedtext.privacy.history import HISTORY_ROOT, release_history
from fedtext.privacy.report import reported_releases
from fedtext.resuming.records import Store
from fedtext.system.atomic import PARTIAL, REPLACED, partial_path
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.console import LOG_FILE
from fedtext.wiring.own_run import RunParameters

PR_SET_PDEATHSIG = 1  # prctl(2)


def end_with_parent() -> None:
    """Ask the kernel to end this process as soon as its parent is gone (`subprocess`'s `preexec_fn`).

    Linux only; elsewhere a run whose comparison was killed goes on to its end.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


ALONE = {"name": "in_process", "workers": None, "address": None}  # the engine of a run that an engine may have started
UNREAD = {"texts": 0}  # a comparison measures, and its runs write no texts for people to read
NOT_LINKED = (
    "lock",
    "lock_holder.json",
    LOG_FILE,
    "mlflow.db",
    "mlflow.db-journal",
    "mlartifacts",
    f"{PARTIAL}*",
    f"{REPLACED}*",
    "for_reading.csv",  # another entry's, and none of this one's
    "reading_pool.parquet",
    "pieces",  # of a node that was killed: they grow in place
)


class ResultPaths(NamedTuple):
    """Paths, below a run's data root, of the results that a comparison reads."""

    scorecard: Path
    privacy_report: Path
    sets_map: Path


@dataclass(frozen=True)
class ChildRun:
    """A run to be made: its options for `kedro run`, and the data root to start from, if any.

    `budget_root` is the comparison's data root, whose budget all its runs share.
    """

    name: str
    entry: Entry
    seed: int
    params: RunParameters
    data_root: Path
    budget_root: Path
    left: ResultPaths
    start_from: Path | None
    project: Path
    conf: str
    env: str | None

    @property
    def roots(self) -> tuple[Path, ...]:
        """The data roots that may hold the run's releases already: its own, and the one that it starts from."""
        return (self.data_root, *([self.start_from] if self.start_from else []))


def planned(
    name: str, entry: Entry, seed: int, *, root: Path, project: Path, conf: str, env: str | None,
    given: Mapping[str, Any], parameters: Mapping[str, Any], left: ResultPaths, start_from: str | None = None,
) -> ChildRun:  # fmt: skip
    """Return the run of one entry with one seed, below `root` (the comparison's own directory).

    Args:
        name: The entry's.
        entry: Algorithm and own parameters.
        seed: Replaces every seed but the partition's; the noise of a simulation gets one of its own.
        root: Directory of all runs of the comparison.
        project: Directory of the Kedro project.
        conf: Directory of its configuration.
        env: Configuration environment of the comparison.
        given: Parameters given to the comparison on its command line; they go to every run.
        parameters: All parameters of the comparison.
        left: Where the run leaves its results.
        start_from: Entry of the same seed whose files a data root of its own starts with.
    """
    seeds = {group: {"seed": seed} for group, values in parameters.items() if _seeded(group, values)}
    noise_seed = (parameters.get("privacy") or {}).get("noise_seed")
    simulated = {} if noise_seed is None else {"privacy": {"noise_seed": noise_seed + seed}}
    passed_on = {group: values for group, values in given.items() if group not in ("compare", "data_root")}
    snapshots = {"largefedbench": {"out_dir": parameters["largefedbench"]["out_dir"]}}  # not below the run's data root
    alone = {"engine": ALONE} if "engine" in parameters else {}
    unread = {"for_reading": UNREAD} if "for_reading" in parameters else {}
    place = data_root(root, seed, name if entry.params else None)
    params = merged(unread, passed_on, snapshots, alone, seeds, simulated, entry.params, {"data_root": str(place)})
    source = data_root(root, seed, start_from) if start_from != name else None
    start = source if source != place else None
    return ChildRun(name, entry, seed, RunParameters(params), place, root.parent, left, start, project, conf, env)


def data_root(root: Path, seed: int, variant: str | None) -> Path:
    """Return the data root of the runs of a seed, or of one variant."""
    return root / (f"seed_{seed}" if variant is None else f"seed_{seed}_{variant}")


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested mappings merged key by key, the later over the earlier."""
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
            result[key] = (
                merged(result[key], value) if both else (merged(value) if isinstance(value, Mapping) else value)
            )
    return result


def run(child: ChildRun) -> None:
    """Start the run and wait for it; a finished one finds nothing left to do.

    Raises:
        RunRefusedError: It failed; its output stands above.
    """
    if child.start_from is not None and child.start_from.exists() and not child.data_root.exists():
        _link(child.start_from, child.data_root)
    start(child)


def start(child: ChildRun, *options: str, quiet: bool = False) -> None:
    """Start `kedro run` with the run's options and more of them, and wait for it.

    `quiet`: MLflow keeps no record of it, and its last lines, with the place of its report, are not shown.

    Raises:
        RunRefusedError: It failed; its output stands above.
    """
    child.data_root.mkdir(parents=True, exist_ok=True)
    settings = child.data_root / f"run_{child.name}.yml"
    child.params.write(settings)
    command = [sys.executable, "-m", "kedro", "run", "--pipelines", child.entry.algorithm, "--config", str(settings)]
    command += ["--conf-source", child.conf, *(["--env", child.env] if child.env else []), *options]
    around = {HISTORY_ROOT: os.environ.get(HISTORY_ROOT) or str(child.budget_root)}
    around |= {"FEDTEXT_TRACKING": "off"} if quiet else {}
    done = subprocess.run(
        command,
        cwd=child.project,
        env={**os.environ, **around},
        stdout=subprocess.DEVNULL if quiet else None,
        check=False,
        preexec_fn=end_with_parent,
    )
    if done.returncode:
        raise RunRefusedError(
            f"{child.name} with seed {child.seed} failed with exit code {done.returncode}; its message stands above. "
            f"Finished runs are kept: mend it and run the same command, or this run alone: {' '.join(command)}",
            code="child-failed",
            value=child.name,
        )


def release_receipts(child: ChildRun, privacy_report: Mapping[str, Any]) -> list[str]:
    """Return the receipts of the run's releases as its data root recorded them.

    Of one plan there may be several, made with other parameters: what the run's nodes let out counts. It need not be
    the newest, since a release that is repeated is recorded once. Nodes of an earlier version have recorded none, and
    of theirs the newest counts.
    """
    charged, made = reported_releases(privacy_report), Store(child.data_root).receipts()
    recorded = sorted(release_history(child.data_root), key=lambda entry: entry.receipt in made)
    last = {
        (entry.release, entry.round): entry.receipt
        for entry in recorded
        if entry.release is not None and entry.release in charged
    }
    return sorted(last.values())


def node_seconds(child: ChildRun, privacy_report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the wall time of the algorithm's nodes by side: releases are the clients' work, the rest the server's."""
    store = Store(child.data_root)
    own, asked = _own_nodes(child, privacy_report, store), {entry.node for entry in release_history(child.data_root)}
    seconds = {node: s for node, s in store.seconds().items() if node in own}
    return {
        "clients": {node: s for node, s in seconds.items() if node in asked},
        "server": {node: s for node, s in seconds.items() if node not in asked},
    }


def _own_nodes(child: ChildRun, privacy_report: Mapping[str, Any], store: Store) -> set[str]:
    """Return the finished run's nodes of its algorithm, or of the algorithm whose releases it depends on.

    The data root has records of others too: of runs with other parameters, and of the entry it started from.
    """
    places = {child.entry.algorithm, *(release["name"].partition(".")[0] for release in privacy_report["releases"])}
    return {node for node in store.last_run() if node.partition(".")[0] in places}


def _seeded(group: str, values: object) -> bool:
    return isinstance(values, Mapping) and "seed" in values and group not in FIXED_SEEDS


def _link(source: Path, target: Path) -> None:
    """Hard-link the files below `source` to `target`: results are replaced, never changed, so both stay whole."""
    partial = partial_path(target)
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial, copy_function=os.link, ignore=shutil.ignore_patterns(*NOT_LINKED))
    os.replace(partial, target)
