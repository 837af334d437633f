"""The engine over Ray (`pip install 'fedtext[ray]'`): workers of this machine or of a cluster.

A Ray that is started here asks whoever connects for a token made for this process, keeps its files in a folder of this
user alone, spills objects below the data root, and sends no usage statistics. Its ports are open on the machine's
address, and what passes through them is not encrypted. A cluster that is named by its address is as closed as whoever
started it made it (docs/scaling.md).

Ray computes the piece of a worker that was killed again, elsewhere.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import psutil

from fedtext.system.alike import computed_with
from fedtext.system.engine import Engine, WorkerLostError, as_bytes, compute_alike, known_as_workers
from fedtext.system.errors import FedtextError
from fedtext.system.folders import make_own_folder
from fedtext.system.refusal import RunRefusedError
from fedtext.system.threads import cores_here, ordered

T = TypeVar("T")
R = TypeVar("R")
_handing_over: ContextVar[bool] = ContextVar("handing over", default=False)
_started: list[bool] = []
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


def is_installed() -> bool:
    """Return whether Ray can be imported."""
    return find_spec("ray") is not None


def is_started() -> bool:
    """Return whether an engine over Ray is up in this process."""
    return bool(_started)


def is_handing_over() -> bool:
    """Return whether the engine itself is handing a piece to Ray at this moment."""
    return _handing_over.get()


class RayEngine:
    """Computes the pieces over Ray's workers (`over_ray`)."""

    def __init__(self, workers: int) -> None:
        import ray

        self._ray, self._workers = ray, workers
        self._task, self._with = ray.remote(num_cpus=1)(compute_alike), computed_with()

    def map(self, work: Callable[[T], R], pieces: Iterable[T], /) -> Iterator[R]:
        """Implement Engine.

        Raises:
            WorkerLostError: A piece was lost with its worker, again and again.
        """
        with _allowed():
            packed = self._ray.put(as_bytes(work))  # once, not with every piece
        return ordered(lambda piece: self._submit(packed, piece), pieces, at_once=2 * self._workers)

    def _submit(self, packed: Any, piece: Any) -> Callable[[], Any]:
        with _allowed():
            due = self._task.remote(self._with, packed, piece)
        return lambda: self._result(due)

    def _result(self, due: Any) -> Any:
        try:
            return self._ray.get(due)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error  # as the function raised it
        except self._ray.exceptions.RayError as error:
            raise WorkerLostError(
                f"Ray lost a piece of work ({type(error).__name__}): look at the cluster, and run the same command to "
                "go on",
                code="piece-lost",
            ) from error


@contextmanager
def over_ray(workers: int | None, address: str | None, spill: Path) -> Iterator[Engine]:
    """Yield an engine over Ray: over the cluster at `address`, or over `workers` processes that are started here.

    Args:
        workers: How many pieces are computed at once; None: one a core, of this machine or of the cluster.
        address: Of a running cluster, as `10.0.0.1:6379`; None: Ray is started here, and stopped afterwards.
        spill: Folder for objects that do not fit into memory.

    Raises:
        RunRefusedError: Ray did not start in time, the cluster does not answer, or its workers cannot run this code.
        OtherWorkerError: A worker computes with other code or libraries, or on another kind of processor.
    """
    _settle_before_import(own=address is None)
    import ray

    with ExitStack() as stack:
        stack.callback(ray.shutdown)
        try:
            if address is not None:
                ray.init(address=address, **QUIET)
            else:
                _start_here(ray, workers or cores_here(), spill, stack)
        except Exception as error:  # Ray raises whatever its parts raise
            where = "on this machine" if address is None else f"at {address}"
            raise RunRefusedError(
                f"Ray cannot be reached {where} ({' '.join(str(error).split())[:200]}): look at the cluster and its "
                "token, or take engine.name=processes",
                code="ray-not-reached",
                parameter="engine.address",
                value=address,
            ) from error
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        engine = RayEngine(count)
        _try_out(engine, count, address)
        stack.enter_context(known_as_workers(one.pid for one in psutil.Process().children(recursive=True)))
        _started.append(True)
        stack.callback(_started.clear)
        yield engine


def _try_out(engine: RayEngine, workers: int, address: str | None) -> None:
    """Compute a trifle on the workers; threads of this process start now, too, and not within a node."""
    try:
        list(engine.map(abs, range(workers)))
    except FedtextError:
        raise
    except Exception as error:  # whatever a worker finds missing
        *_, said = ["", *str(error).strip().splitlines()]  # a worker's traceback ends with the error
        raise RunRefusedError(
            f"the workers of Ray cannot run this version of fedtext ({said.strip()[:200]}): install the "
            "same one on every machine of the cluster, and start its workers again",
            code="ray-workers-unfit",
            parameter="engine.address",
            value=address,
        ) from error


def _start_here(ray: Any, workers: int, spill: Path, stack: ExitStack) -> None:
    folder = stack.enter_context(_own_folder())
    shutil.rmtree(spill, ignore_errors=True)  # what a killed run has left: people's samples, and the run's secret
    make_own_folder(spill)
    spill.chmod(0o700)
    with _importing_the_same():
        ray.init(
            address="local",  # else a variable of a cluster's job, RAY_ADDRESS, would choose another one
            num_cpus=workers,
            include_dashboard=False,
            object_spilling_directory=str(spill),
            _temp_dir=folder,
            **QUIET,
        )


def _settle_before_import(*, own: bool) -> None:
    """Set what Ray reads when it is imported: no usage statistics, which are on by default, and a token of our own.

    The errors of pieces that nobody waits for any more are not shown: they may be about private text. A cluster that
    does not answer is tried twice, 40 s each; by default Ray tries for a quarter of an hour.
    """
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_IGNORE_UNHANDLED_ERRORS": "1"}
    if not own:
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")
    if own and "ray" not in sys.modules:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


@contextmanager
def _importing_the_same() -> Iterator[None]:
    """Let what is started in the block, and all that it starts, import what this process can."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


@contextmanager
def _own_folder() -> Iterator[str]:
    """Yield a folder for Ray's sockets and logs, which no other user may enter.

    Its path is short, since a socket's may have 107 characters; and it is not the run's own, where nodes may not leave
    files.
    """
    place = "/tmp" if os.path.isdir("/tmp") else None
    with tempfile.TemporaryDirectory(prefix="ray-", dir=place, ignore_cleanup_errors=True) as folder:
        yield folder


@contextmanager
def _allowed() -> Iterator[None]:
    token = _handing_over.set(True)
    try:
        yield
    finally:
        _handing_over.reset(token)
