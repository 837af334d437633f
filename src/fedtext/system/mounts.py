"""The file system under a path, by Linux's table of mounts: whether its locks hold, and a rename is one step."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("/proc/self/mountinfo")
OBJECT_STORES = (
    *("s3fs", "goofys", "mountpoint-s3", "mount-s3", "rclone", "gcsfuse", "gcsf", "blobfuse", "blobfuse2", "geesefs"),
)
ESCAPED = re.compile(r"\\([0-7]{3})")  # a space in a path, as \040


@dataclass(frozen=True)
class Mount:
    """A mounted file system.

    Attributes:
        point: Where it is mounted.
        kind: Its type, as `ext4` or `fuse.s3fs`.
        source: What is mounted.
        options: Its own options and those of the mount.
    """

    point: Path
    kind: str
    source: str
    options: frozenset[str]

    @property
    def fault(self) -> str | None:
        """Why two machines, or two processes, may write to it at once, as a predicate; None if nothing is known."""
        store = self.kind.removeprefix("fuse.").lower()
        if store in OBJECT_STORES or (self.kind.startswith("fuse") and self.source.lower() in OBJECT_STORES):
            return "shows an object store, which has no locks and no renames"
        if self.kind in ("pvfs2", "orangefs"):
            return "has no locks"
        local = {"nolock", "local_lock=all", "local_lock=flock"} & self.options
        if self.kind in ("nfs", "nfs4") and local:
            return f"is mounted with {sorted(local)[0]}, so its locks hold on this machine alone"
        off = {"localflock", "noflock"} & self.options
        if self.kind == "lustre" and off:
            return f"is mounted with {sorted(off)[0]}, so its locks hold on no other machine"
        return None


def mount_of(path: Path, table: str | None = None) -> Mount | None:
    """Return the file system that holds `path`; None where the system has no table of mounts.

    Args:
        path: It need not exist.
        table: The content of /proc/self/mountinfo; None: as it is now.
    """
    if table is None:
        if not TABLE.exists():
            return None
        table = TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    real = Path(os.path.realpath(path))
    found = [mount for line in table.splitlines() if (mount := _parsed(line)) and real.is_relative_to(mount.point)]
    deepest = max((len(mount.point.parts) for mount in found), default=0)
    return next((mount for mount in reversed(found) if len(mount.point.parts) == deepest), None)  # the last one covers


def _parsed(line: str) -> Mount | None:
    """Return the mount of one line, whose optional fields end with a dash; None for a line of another form."""
    before, dash, after = line.partition(" - ")
    fields, own = before.split(" "), after.split(" ")
    if not dash or len(fields) < 6 or len(own) < 3:
        return None
    options = frozenset(f"{fields[5]},{own[2]}".split(","))
    return Mount(Path(_plain(fields[4])), own[0], _plain(own[1]), options)


def _plain(text: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)
