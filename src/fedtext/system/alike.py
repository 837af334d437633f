"""What a process computes with: code, libraries and kind of processor. With other ones a sum may differ in last bits.

Libraries choose their arithmetic by the model of the processor and by its vector instructions. Nothing is imported to
be known here.
"""

from __future__ import annotations

import functools
import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fedtext.system.errors import FedtextError

PACKAGE = Path(__file__).parents[1]
LIBRARIES = ("numpy", "scipy", "torch", "transformers", "tokenizers")
CPU = Path("/proc/cpuinfo")
MODEL = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")  # of x86, and of ARM
VECTORS = ("amx", "asimd", "avx", "bf16", "fma", "i8mm", "sse", "sve")
SHOWN = 12  # characters of a digest


class OtherWorkerError(FedtextError, RuntimeError):
    """A worker that may compute otherwise than the run."""


@functools.cache
def code_digest() -> str:
    """Return the digest of this package's code, as this process finds it."""
    state = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        state.update(f"{file.relative_to(PACKAGE).as_posix()}\x1e{file.read_text('utf-8')}\x1f".encode())
    return state.hexdigest()


def code_name() -> str:
    """Return the beginning of the digest of this package's code: between two releases all versions have one number."""
    return code_digest()[:SHOWN]


@functools.cache
def computed_with() -> dict[str, str]:
    """Return what this process computes with, by what it is."""
    libraries = {f"version of {name}": _version(name) for name in LIBRARIES}
    return {"code of fedtext": code_name(), **libraries, **_processor()}


def validate_alike(run: dict[str, str]) -> None:
    """Raise OtherWorkerError unless this process, a worker's, computes with what the run does."""
    own = computed_with()
    for what in own:
        if own[what] != run.get(what):
            raise OtherWorkerError(
                f"a worker on {platform.node()} computes with another {what} ({own[what]}) than this run "
                f"({run.get(what)}), and may clip, add up and round otherwise: have the same versions (fedtext lies "
                f"in {PACKAGE}) and one kind of processor on all machines of the cluster, start its workers "
                "again, and run the same command to go on",
                code="worker-computes-otherwise",
                parameter="engine.address",
                value=platform.node(),
            )


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "none"


def _processor() -> dict[str, str]:
    try:
        lines = CPU.read_text("utf-8", errors="replace").splitlines()
    except OSError:  # no Linux
        return {"kind of processor": f"{platform.machine()} {platform.processor()}"}
    said = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    model = [said[name] for name in MODEL if name in said]
    flags = said.get("flags", said.get("Features", "")).split()
    vectors = sorted(flag for flag in flags if flag.startswith(VECTORS))
    return {"kind of processor": " ".join([platform.machine(), *model]), "set of instructions": " ".join(vectors)}
