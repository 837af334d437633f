"""Training on several GPUs: one process a GPU, by torchrun and DistributedDataParallel.

A node cannot be such a process itself: each of them would run the pipeline, and open its lock. So the node starts them,
hands them a function, and waits. Every process computes the function on its own device; the value of the first is the
result. A trainer of transformers finds out by itself that it is one of several: it reads every other batch, and takes
the mean of their gradients. On a machine without a GPU the processes share its cores.

torchrun is what `accelerate launch` starts as well. That also reads a configuration file in the user's home, on which
a result would then depend.

What a node is given travels in a folder that only this user may enter. The processes end with the run, also if that is
killed: they see it by their standard input, which the run holds open.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, TypeVar

import cloudpickle

from fedtext.system.errors import FedtextError, InputError
from fedtext.system.progress import progress
from fedtext.system.threads import cores_here

T = TypeVar("T")
R = TypeVar("R")
NOTHING: Any = object()  # where a process has one piece fewer
WORK, RESULT, ERROR, MESSAGES = "work", "result", "error", "messages"
STEP = b"step done\n"  # what the first process says after every step
PATIENCE = 10.0  # seconds for the processes to end that are told to
COUNT, RANK, LOCAL_RANK = "WORLD_SIZE", "RANK", "LOCAL_RANK"  # torchrun's names


class ProcessLostError(FedtextError, RuntimeError):
    """A process of a training that ended before the training did."""


def over_gpus(work: Callable[[], R], gpus: int, *, steps: int, label: str, parameter: str) -> R:
    """Return `work()` as the first of `gpus` processes computes it; each has a GPU of its own, where there is one.

    Args:
        work: Travels by cloudpickle. What it raises in a process is raised here.
        gpus: Number of processes.
        steps: Number of steps of the training, for the progress bar (`step_is_done`).
        label: Name of the training.
        parameter: Dotted name of the parameter that `gpus` is.

    Raises:
        InputError: there are fewer GPUs than that.
        ProcessLostError: a process was killed.
    """
    validate_gpus(gpus, parameter)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / WORK).write_bytes(cloudpickle.dumps(work))
        with (folder / MESSAGES).open("wb") as messages, _started(folder, gpus, messages) as running:
            bar = iter(progress(range(steps), label, unit="step"))
            assert running.stdout is not None
            for line in running.stdout:
                if line == STEP:
                    next(bar, None)
            next(bar, None)
            code = running.wait()
        if code == 0:
            return _read(folder / RESULT)
        for rank in range(gpus):
            if (found := folder / f"{ERROR}{rank}").is_file():
                raise _read(found)
        raise ProcessLostError(
            f"{label}: one of {gpus} processes was ended in the middle of its work, as one is that needs more memory "
            f"than there is: run the same command to go on, or with a smaller {parameter.rpartition('.')[0]}"
            ".pairs_at_once",
            code="training-process-lost",
            parameter=parameter,
            value=gpus,
        )


def is_several() -> bool:
    """Return whether this process is one of several that train together."""
    return int(os.environ.get(COUNT, "1")) > 1


def step_is_done() -> None:
    """Tell the run that a step is done, if this is the first of its processes."""
    if is_several() and os.environ[RANK] == "0":
        os.write(1, STEP)


def own_share(pieces: Sequence[T]) -> Sequence[T]:
    """Return every other piece, this process's own; all of them if it trains alone."""
    return pieces[int(os.environ.get(RANK, "0")) :: int(os.environ.get(COUNT, "1"))]


def shares_together(found: list[T]) -> list[T]:
    """Return what all processes have found for their `own_share`, in the order of the pieces."""
    if not is_several():
        return found
    from torch import distributed

    shares: list[list[T]] = [[] for _ in range(distributed.get_world_size())]
    distributed.all_gather_object(shares, found)
    return [one for row in zip_longest(*shares, fillvalue=NOTHING) for one in row if one is not NOTHING]


def validate_gpus(gpus: int, parameter: str) -> None:
    """Raise InputError if this machine has GPUs, and fewer than are asked for; without any, its cores are shared."""
    if gpus == 1:
        return
    import torch

    there = torch.cuda.device_count()
    if 0 < there < gpus:
        raise InputError(
            f"{parameter} is {gpus}, and this machine has {there}: set it to at most {there}",
            code="more-gpus-than-there-are",
            parameter=parameter,
            value=gpus,
        )


@contextmanager
def _started(folder: Path, gpus: int, messages: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the running processes, and end all of them at the end of the block."""
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(gpus))
    command = [sys.executable, *launch, "-m", "fedtext.training.worker", str(folder)]
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores_here() // gpus))
    surroundings = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_NUM_THREADS": threads,
        "FEDTEXT_PROGRESS": "0",
    }
    running = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # held open by the run alone, so that its end is seen
        stdout=subprocess.PIPE,
        stderr=messages,
        env=surroundings,
        start_new_session=True,
    )
    try:
        yield running
    finally:
        _end(running)


def _end(running: subprocess.Popen[bytes]) -> None:
    """End the processes, if they have not ended: by their standard input, and then by force."""
    for stream in (running.stdin, running.stdout):
        if stream is not None:
            stream.close()
    with suppress(subprocess.TimeoutExpired):
        running.wait(PATIENCE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def _read(path: Path) -> R:  # type: ignore[type-var] # the work's own type, which a file does not know
    found: R = pickle.loads(path.read_bytes())
    return found
