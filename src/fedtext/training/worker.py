"""One of several processes that train together: `torchrun -m fedtext.training.worker FOLDER`.

It is started by `fedtext.training.processes.over_gpus`, which says what the folder holds.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from pathlib import Path
from threading import Thread

import cloudpickle

from fedtext.system.errors import FedtextError
from fedtext.training.processes import ERROR, LOCAL_RANK, RANK, RESULT, WORK


def main(folder: Path) -> int:
    """Compute the folder's work on this process's own device; the first process writes the result there."""
    Thread(target=_exit_with_the_run, daemon=True).start()
    rank = int(os.environ[RANK])
    _choose_device(int(os.environ[LOCAL_RANK]))
    try:
        result = pickle.loads((folder / WORK).read_bytes())()
    except Exception as error:
        _written(folder / f"{ERROR}{rank}", _told(error))
        return 1
    if rank == 0:
        _written(folder / RESULT, cloudpickle.dumps(result))
    _leave_together()
    return 0


def _exit_with_the_run() -> None:
    """End this process as soon as its run is killed: the run's end of standard input closes then."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _choose_device(number: int) -> None:
    """Make the GPU of this number the one that models are loaded on."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(number)


def _leave_together() -> None:
    """Wait for the others, and close what connects them; a process that leaves first is taken for one that failed."""
    from torch import distributed

    if distributed.is_initialized():
        distributed.barrier()
        distributed.destroy_process_group()


def _told(error: Exception) -> bytes:
    """Return the error as bytes; a fault has a note of where it was raised, one that cannot be pickled is its words."""
    where = "".join(traceback.format_exception(error))
    if not isinstance(error, FedtextError):
        error.add_note(where)
    try:
        return bytes(cloudpickle.dumps(error))
    except Exception:  # whatever an error holds
        return bytes(cloudpickle.dumps(RuntimeError(where)))


def _written(path: Path, content: bytes) -> None:
    """Write the file at once: a process that is killed leaves no half of it."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(content)
    beside.rename(path)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
