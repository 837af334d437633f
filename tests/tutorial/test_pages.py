"""What a page changes is there to be changed, at every commit; whether the result works is seen by each page's test."""

from __future__ import annotations

import pytest

from tests.tutorial.pages import ROOT, files, patched

PAGES = sorted(path.name for path in (ROOT / "docs").glob("tutorial_*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_its_diffs_are_in_the_files_and_its_new_files_are_not(page: str) -> None:
    shown = files(page)
    assert shown
    for one in shown:
        place = ROOT / one.path
        if one.language == "diff":
            assert patched(place.read_text("utf-8"), one.text) != place.read_text("utf-8")
        else:
            assert not place.exists(), one.path
