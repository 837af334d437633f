"""A file of an installed package: the right digest passes, another is refused in words that say what it is of."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fedtext.models.installed_file import check_sha256, installed_file
from tests.refusals import refuses


def test_the_right_digest_passes(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"abc")
    check_sha256(path, hashlib.sha256(b"abc").hexdigest(), "a model", "get it again")
    with refuses("file-changed"):
        check_sha256(path, "0000", "a model", "get it again")


def test_a_file_is_found_in_what_is_installed_and_the_distribution_s_name_is_told() -> None:
    with refuses("file-changed"):
        installed_file("a model", "hypothesis", "LICENSE.txt", "0" * 64, "get it again")
    with refuses("package-not-installed", value="no-such-package"):
        installed_file("a model", "no-such-package", "x", "0" * 64, "get it again")
