"""How long torch's threads spin while they wait for each other: said by the OpenMP library itself, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fedtext.system.waiting import SPINS


@pytest.mark.skipif(sys.platform != "linux", reason="GCC's OpenMP comes with torch on Linux alone")
@pytest.mark.parametrize(
    ("given", "spins"), [({}, SPINS), ({"GOMP_SPINCOUNT": "77"}, 77), ({"OMP_WAIT_POLICY": "PASSIVE"}, 0)]
)
def test_the_project_s_settings_come_before_torch_and_leave_what_the_user_set(
    given: dict[str, str], spins: int
) -> None:
    inherited = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", "import fedtext.settings, torch"],
        env={**inherited, "OMP_DISPLAY_ENV": "VERBOSE", **given},
        check=True,
        capture_output=True,
        text=True,
    )
    assert f"GOMP_SPINCOUNT = '{spins}'" in done.stderr
