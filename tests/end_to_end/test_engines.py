"""The main job's release, of its own clients, has the same bytes on every engine, also where a worker was killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from safetensors.numpy import load_file, save

from fedtext.federation import messages
from fedtext.system.engine import Engine, InProcess, computing_on, over_processes
from fedtext.system.ray_engine import over_ray
from fedtext.wiring.config import ProjectConfigLoader
from fedtext.wiring.guard.watch import Watch
from fedtext.wiring.guard.workers import watched_engine
from tests.algorithms.popri.test_engines import LosingAWorker
from tests.end_to_end.conftest import ROOT, TINY

RELEASED = "05_model_input/popri/released_mean.safetensors"


@pytest.fixture
def release(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """What computes the release once more from what the finished run had read; from here on a piece has 7 clients."""
    for bound in ("FEWEST", "MOST"):
        monkeypatch.setattr(messages, bound, 7)
    monkeypatch.chdir(ROOT)
    bootstrap_project(ROOT)
    given: dict[str, object] = {"data_root": str(tiny_run)}
    for name, value in TINY.items():
        group, _, rest = name.partition("__")
        given.setdefault(group, {})[rest] = value  # type: ignore[index]
    with KedroSession.create(ROOT, env="tiny", runtime_params=given) as session:
        catalog = session.load_context().catalog
        (node,) = [one for one in pipelines["popri"].nodes if one.name.endswith("release_mean_features")]
        inputs = {name: catalog.load(name) for name in node.inputs}
        yield lambda: node.run(inputs)[node.outputs[0]]
    ProjectConfigLoader.active = None


def started(name: str, root: Path, stack: ExitStack) -> Engine:
    """An engine of two workers, watched as a node's that reads private data are."""
    if name == "in process":
        return InProcess()
    if name == "processes":
        engine = stack.enter_context(over_processes(2))
    else:
        pytest.importorskip(
            "ray", reason="the engine over Ray is tested where it is installed: pip install 'ray==2.60.*'"
        )
        engine = stack.enter_context(over_ray(2, None, root / ".fedtext/spill"))
    return watched_engine(engine, Watch(who="node 'n'", reads_private=True, may_read=False, data_root=root))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in process", "processes", "Ray", "Ray, a worker killed"])
def test_the_main_job_s_release_has_the_same_bytes(release: object, tiny_run: Path, tmp_path: Path, name: str) -> None:
    with ExitStack() as stack:
        engine = started(name, tmp_path, stack)
        losing = LosingAWorker(engine)
        with computing_on(losing if "killed" in name else engine):
            found = release()  # type: ignore[operator]
    assert losing.killed == ("killed" in name)
    saved = load_file(tiny_run / RELEASED)
    assert save({next(iter(saved)): found}) == save(saved)
