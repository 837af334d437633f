"""Which file system a path lies on, and which of them keep two runs apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fedtext.system.mounts import Mount, mount_of
from fedtext.wiring.hooks.preflight import check_mount
from tests.refusals import refuses

TABLE = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:30 / /srv/nfs rw,relatime shared:9 - nfs4 server:/data rw,vers=4.2,hard,local_lock=none
41 22 0:31 / /srv/nfs3 rw,relatime shared:9 - nfs server:/data rw,vers=3,nolock
42 22 0:32 / /srv/half rw,relatime - nfs server:/data rw,vers=3,local_lock=flock
43 22 0:33 / /srv/bucket rw,nosuid - fuse.s3fs s3fs rw,user_id=0
44 22 0:34 / /srv/goofy rw - fuse bucket rw
45 22 0:35 / /srv/mounted rw - fuse mountpoint-s3 rw
46 22 0:36 / /srv/lustre rw - lustre 10.0.0.1@tcp:/fs rw,flock,lazystatfs
47 22 0:37 / /srv/alone rw - lustre 10.0.0.1@tcp:/fs rw,localflock
48 22 0:38 / /srv/orange rw - pvfs2 tcp://host rw
49 22 0:39 / /srv/with\040space rw - fuse.gcsfuse bucket rw
50 40 0:40 / /srv/nfs/inner rw - tmpfs tmpfs rw
51 22 0:41 / /srv/covered rw - fuse.s3fs s3fs rw
52 22 0:42 / /srv/covered rw - xfs /dev/vdb rw
a line of another form
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me", "ext4"),
        ("/srv/nfs/data", "nfs4"),
        ("/srv/nfs/inner/deep", "tmpfs"),
        ("/srv/nfsx", "ext4"),
        ("/srv/with space/data", "fuse.gcsfuse"),
        ("/srv/covered", "xfs"),
    ],
)
def test_the_deepest_and_last_mount_holds_a_path(path: str, kind: str) -> None:
    found = mount_of(Path(path), TABLE)
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("name", ["nfs3", "half", "bucket", "mounted", "alone", "orange", "with space"])
def test_file_systems_without_locks_are_refused_by_their_mount(name: str) -> None:
    with refuses("file-system-without-locks", parameter="data_root"):
        check_mount(Path("/srv") / name / "data", TABLE)


@pytest.mark.parametrize("name", ["nfs", "nfs/inner", "lustre", "covered", "goofy", "nothing"])
def test_others_pass(name: str) -> None:
    check_mount(Path("/srv") / name, TABLE)


@pytest.mark.skipif(sys.platform != "linux", reason="the table of mounts is Linux's")
def test_this_machine_s_own_table_is_read(tmp_path: Path) -> None:
    found = mount_of(tmp_path)
    assert isinstance(found, Mount)
    check_mount(tmp_path)
