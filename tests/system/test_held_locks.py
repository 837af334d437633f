"""A lock says who holds it, and a holder that has lost it finds out before it releases anything."""

from __future__ import annotations

import json
import os
import platform
import shutil
from pathlib import Path

import pytest

from fedtext.privacy.history import History, release_history
from fedtext.resuming.records import DataRootBusyError, Store
from fedtext.system.held_locks import LockLostError, check_still_held, holder_of, holding
from fedtext.system.locks import LockHeldError
from tests.privacy.histories import release, spent
from tests.refusals import refuses


def holder_file(lock: Path) -> Path:
    return lock.with_name("lock_holder.json")


def taken_by_another(lock: Path) -> None:
    """What another machine writes that was given the lock too."""
    other = {"host": "elsewhere", "process": 7, "since": "2026-01-01T00:00:00+00:00", "token": "other"}
    holder_file(lock).write_text(json.dumps(other))


def test_a_lock_names_host_process_and_start(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "lock") is None
    with holding(tmp_path / "lock") as own:
        assert holder_of(tmp_path / "lock") == own
        assert (own.host, own.process) == (platform.node(), os.getpid())
        assert str(own) == f"process {os.getpid()} on {platform.node()}, since {own.since}"
        with refuses("locked-by-another"), holding(tmp_path / "lock"):
            pass
    with holding(tmp_path / "lock") as again:
        assert again.token != own.token


def test_who_waits_is_told_whom_for(tmp_path: Path) -> None:
    told = pytest.raises(DataRootBusyError, match=f"process {os.getpid()} on ")
    with Store.locked(tmp_path), told as busy, Store.locked(tmp_path):
        pass
    assert "since 20" in str(busy.value)


def test_an_unreadable_record_names_nobody(tmp_path: Path) -> None:
    with holding(tmp_path / "lock"):
        holder_file(tmp_path / "lock").write_text("{")
        with pytest.raises(LockHeldError, match="another process"), holding(tmp_path / "lock"):
            pass


def test_a_lock_that_another_took_is_found_lost(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    check_still_held(lock)  # nobody's: nothing to lose
    with holding(lock):
        check_still_held(lock)
        taken_by_another(lock)
        with pytest.raises(LockLostError, match="by process 7 on elsewhere"):
            check_still_held(lock)
        holder_file(lock).unlink()
        with refuses("lock-lost"):
            check_still_held(lock)
    check_still_held(lock)


def test_a_run_that_lost_its_data_root_charges_nothing(tmp_path: Path) -> None:
    """Two machines may both believe that they hold a lock over a network: the first one stops before its release."""
    entry = spent(release(name="popri.mean"), "receipt")
    with Store.locked(tmp_path) as store:
        taken_by_another(store.root / "lock")
        with refuses("lock-lost"):
            History(tmp_path).add(entry)
        assert release_history(tmp_path) == ()
    with Store.locked(tmp_path):
        assert History(tmp_path).add(entry)
    assert len(release_history(tmp_path)) == 1


def test_a_copied_data_root_is_held_by_who_takes_it(tmp_path: Path) -> None:
    with Store.locked(tmp_path / "one"):
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        with Store.locked(tmp_path / "two"):
            assert History(tmp_path / "two").add(spent(release(name="popri.mean"), "receipt"))
            check_still_held(tmp_path / "one" / ".fedtext" / "lock")
