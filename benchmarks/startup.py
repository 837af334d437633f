"""Start-up: `kedro registry list` here against a bare Kedro project with the same plugins.

    python -m benchmarks.startup

Both take turns on the same machine; the medians of CPU seconds (user and system, of the process and its children) and
of wall seconds are compared. CPU seconds are the measure: wall seconds on a shared machine say more about its
neighbours.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "build/benchmarks/startup.json"
REPEATS, GOAL = 5, 1.5
COMMAND = [str(Path(sys.executable).with_name("kedro")), "registry", "list"]
BARE = {
    "pyproject.toml": (
        '[tool.kedro]\npackage_name = "bare"\nproject_name = "bare"\nkedro_init_version = "1.7.0"\nsource_dir = "src"\n'
    ),
    ".telemetry": "consent: false\n",
    "conf/base/parameters.yml": "",
    "conf/base/catalog.yml": "",
    "conf/local/.gitkeep": "",
    "conf/logging.yml": (ROOT / "conf/logging.yml").read_text(encoding="utf-8"),
    "src/bare/__init__.py": "",
    "src/bare/settings.py": "",
    "src/bare/pipeline_registry.py": (
        "from kedro.pipeline import Pipeline, node\n\n\n"
        "def register_pipelines() -> dict[str, Pipeline]:\n"
        '    return {"__default__": Pipeline([node(abs, "a", "b")])}\n'
    ),
}


def make_bare_project(directory: Path) -> None:
    """Write the least that Kedro accepts as a project."""
    for name, text in BARE.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")


def seconds(project: Path) -> tuple[float, float]:
    """Return CPU and wall seconds of one `kedro registry list`."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    env = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "KEDRO_ENV"}}
    subprocess.run(COMMAND, cwd=project, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - started


def main() -> None:
    """Print the medians and the ratio, write build/benchmarks/startup.json, exit with 1 above the goal."""
    with tempfile.TemporaryDirectory() as directory:
        bare = Path(directory)
        make_bare_project(bare)
        projects = {"bare": bare, "fedtext": ROOT}
        for project in projects.values():
            seconds(project)  # fills the caches of byte code and files
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in projects}
        for _ in range(REPEATS):
            for name, project in projects.items():
                runs[name].append(seconds(project))
    cpu = {name: statistics.median(run[0] for run in found) for name, found in runs.items()}
    wall = {name: statistics.median(run[1] for run in found) for name, found in runs.items()}
    ratio = cpu["fedtext"] / cpu["bare"]
    result = {"cpu_seconds": cpu, "wall_seconds": wall, "ratio": ratio, "goal": GOAL, "repeats": REPEATS}
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(f"kedro registry list, CPU seconds: bare {cpu['bare']:.2f}, fedtext {cpu['fedtext']:.2f}, ratio {ratio:.2f}")
    if ratio > GOAL:
        raise SystemExit(f"start-up takes {ratio:.2f} times that of a bare project, more than {GOAL}")


if __name__ == "__main__":
    main()
