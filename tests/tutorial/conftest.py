"""The copy of the project that a tutorial's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tutorial.pages import copy_of_the_project, files, write


@pytest.fixture(scope="module")
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the files of the test module's `PAGE`."""
    copy = copy_of_the_project(tmp_path_factory.mktemp("project"))
    write(files(request.module.PAGE), copy)
    return copy
