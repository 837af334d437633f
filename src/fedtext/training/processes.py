"""Training on several GPUs: one process a GPU, with DistributedDataParallel.

A node cannot be such a process itself: each of them would run the pipeline, and open its lock. So the node starts them,
hands them a function, and waits. Every process computes the function on its own device; the value of the first is the
result. A trainer of transformers finds out by itself, through accelerate, that it is one of several: it reads every
other batch, and takes the mean of their gradients. On a machine without a GPU the processes share its cores.

They are started as workers of the run's engine are (fedtext.system.engine), and not by `accelerate launch`. That takes
a program and files in place of a function and a pipe, and reads a configuration in the user's home, on which a result
would then depend. The processes meet through a file of this user's own and talk on the machine's own interface.
"""

from __future__ import annotations

import os
import socket
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from fedtext.system.engine import as_bytes, exit_with_parent, from_bytes, threads_of_a_worker
from fedtext.system.errors import FedtextError, InputError
from fedtext.system.progress import kept_terminal

T = TypeVar("T")
R = TypeVar("R")
NOTHING: Any = object()  # where a process has one piece fewer
PATIENCE = 10.0  # seconds for processes to end that are done
HEARING = 3.0  # seconds in which another process is found to be killed, when one has failed
COUNT, RANK = "WORLD_SIZE", "RANK"  # accelerate's names, which it looks for in the environment


class ProcessLostError(FedtextError, RuntimeError):
    """A process of a training that ended before the training did."""


def over_gpus(work: Callable[[], R], gpus: int, *, label: str, parameter: str) -> R:
    """Return `work()` as the first of `gpus` processes computes it; each has a GPU of its own, where there is one.

    Args:
        work: Travels by cloudpickle. What it raises in a process is raised here.
        gpus: Number of processes.
        label: Name of the training.
        parameter: Dotted name of the parameter that `gpus` is.

    Raises:
        InputError: there are fewer GPUs than that.
        ProcessLostError: a process was killed.
    """
    validate_gpus(gpus, parameter)
    with _started(as_bytes(work), gpus) as answers:
        try:
            return _first_result(answers)  # type: ignore[no-any-return] # the work's own
        except EOFError:
            raise ProcessLostError(
                f"{label}: one of {gpus} processes was ended in the middle of its work, as one is that needs more "
                "memory than there is: run the same command to go on, or lower "
                f"{parameter.rpartition('.')[0]}.pairs_at_once",
                code="training-process-lost",
                parameter=parameter,
                value=gpus,
            ) from None


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


def own_share(pieces: Sequence[T]) -> Sequence[T]:
    """Return every other piece, this process's own; all of them if it trains alone."""
    return pieces[int(os.environ.get(RANK, "0")) :: int(os.environ.get(COUNT, "1"))]


def shares_together(found: list[T]) -> list[T]:
    """Return what all processes have found for their `own_share`, in the order of the pieces."""
    if int(os.environ.get(COUNT, "1")) == 1:
        return found
    from torch import distributed

    shares: list[list[T]] = [[] for _ in range(distributed.get_world_size())]
    distributed.all_gather_object(shares, found)
    return [one for row in zip_longest(*shares, fillvalue=NOTHING) for one in row if one is not NOTHING]


@contextmanager
def _started(work: bytes, gpus: int) -> Iterator[list[Connection]]:
    """Yield the connections by which the processes answer, and end all of them at the end of the block."""
    context = get_context("spawn")
    processes, answers = [], []
    with tempfile.TemporaryDirectory() as folder:
        try:
            with threads_of_a_worker(gpus):
                for rank in range(gpus):
                    answer, sender = context.Pipe(duplex=False)
                    process = context.Process(
                        target=_compute, args=(sender, work, rank, gpus, str(Path(folder) / "meeting"))
                    )
                    process.start()
                    sender.close()  # the process has its own end: its death ends the connection
                    processes.append(process)
                    answers.append(answer)
            yield answers
            for process in processes:
                process.join(PATIENCE)
        finally:
            for process in processes:
                process.kill()
                process.join()
            for answer in answers:
                answer.close()


def _first_result(answers: list[Connection]) -> Any:
    """Return the first process's result when all are done; raise what one raises, and EOFError if one is killed."""
    results: dict[Connection, Any] = {}
    while waiting := [answer for answer in answers if answer not in results]:
        for answer in wait(waiting):
            assert isinstance(answer, Connection)
            found, error = from_bytes(answer.recv_bytes())
            if error is not None:
                raise _cause(error, [other for other in waiting if other is not answer])
            results[answer] = found
    return results[answers[0]]


def _cause(error: Exception, others: list[Connection]) -> Exception:
    """Return the error, or EOFError if another process was killed, which the others may notice before us."""
    if isinstance(error, FedtextError):
        return error
    for other in wait(others, HEARING):
        assert isinstance(other, Connection)
        try:
            other.recv_bytes()
        except EOFError as lost:
            return lost
    return error


def _compute(sender: Connection, work: bytes, rank: int, gpus: int, meeting: str) -> None:
    """Compute the work as one of several processes, and send its result, of the first one, or its error."""
    Thread(target=exit_with_parent, daemon=True).start()
    if rank > 0:
        os.environ["FEDTEXT_PROGRESS"] = "0"  # the first draws the bars
    with kept_terminal(), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # libraries would say all of it once a process
        try:
            _meet(meeting, rank, gpus)
            result = from_bytes(work)()
            _part()
        except Exception as error:
            sender.send_bytes(_told(error))
        else:
            sender.send_bytes(as_bytes((result if rank == 0 else None, None)))


def _meet(meeting: str, rank: int, gpus: int) -> None:
    """Connect this process to the others, and choose its GPU as the one that models are loaded on."""
    import torch
    from accelerate.utils import check_cuda_p2p_ib_support
    from torch import distributed

    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    os.environ |= {
        RANK: str(rank),
        COUNT: str(gpus),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(gpus),
        "MASTER_ADDR": "localhost",
        "GLOO_SOCKET_IFNAME": loopback,
        "NCCL_SOCKET_IFNAME": loopback,
    }
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.set_device(rank)
        if not check_cuda_p2p_ib_support():
            os.environ |= {"NCCL_P2P_DISABLE": "1", "NCCL_IB_DISABLE": "1"}
    backend = "nccl" if gpu else "gloo"
    distributed.init_process_group(backend, init_method=Path(meeting).as_uri(), rank=rank, world_size=gpus)


def _part() -> None:
    """Wait for the others before the connection is closed, which one that still computes would take for a failure."""
    from torch import distributed

    distributed.barrier()
    distributed.destroy_process_group()


def _told(error: Exception) -> bytes:
    """Return the error as bytes; a fault has a note of where it was raised, one that cannot be pickled is its words."""
    where = "".join(traceback.format_exception(error))
    if not isinstance(error, FedtextError):
        error.add_note(where)
    try:
        return as_bytes((None, error))
    except Exception:  # whatever an error holds
        return as_bytes((None, RuntimeError(where)))
