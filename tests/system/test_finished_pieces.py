"""Finished pieces: what was kept is there after a kill, by its arguments, and a line that was cut off is not."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.system.finished_pieces import FinishedPieces, finished_pieces, keeping_pieces


def test_without_a_folder_nothing_is_kept() -> None:
    finished_pieces("a").keep(0, ["text"])
    assert finished_pieces("a").get(0) is None


def test_what_was_kept_is_found_by_the_same_arguments_alone(tmp_path: Path) -> None:
    with keeping_pieces(tmp_path / "own"):
        finished_pieces("model", ["prompt"]).keep(3, ["ein \ud800 Text\n", ""])
        assert finished_pieces("model", ["prompt"]).get(3) == ["ein \ud800 Text\n", ""]
        assert finished_pieces("model", ["prompt"]).get(2) is None
        assert finished_pieces("model", ["other"]).get(3) is None
        assert finished_pieces("model['prompt']").get(3) is None
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700


texts = st.lists(st.text(max_size=5), max_size=3)


@settings(max_examples=60)
@given(results=st.lists(texts, min_size=1, max_size=5), lost=st.integers(1, 40))
def test_a_file_that_was_cut_off_anywhere_keeps_its_whole_lines_and_goes_on(
    results: list[list[str]], lost: int, tmp_path_factory: object
) -> None:
    file = tmp_path_factory.mktemp("cut") / "pieces.jsonl"  # type: ignore[attr-defined]
    written = FinishedPieces(file)
    for number, result in enumerate(results):
        written.keep(number, result)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines)[:-lost])
    left = FinishedPieces(file)
    whole = sum(1 for n in range(len(lines)) if len(b"".join(lines[: n + 1])) <= len(b"".join(lines)) - lost)
    assert [left.get(n) for n in range(len(results))] == results[:whole] + [None] * (len(results) - whole)
    left.keep(99, ["new"])
    assert FinishedPieces(file).get(99) == ["new"]
    assert FinishedPieces(file).get(0) == left.get(0)


def test_threads_keep_results_side_by_side(tmp_path: Path) -> None:
    finished = FinishedPieces(tmp_path / "pieces.jsonl")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: finished.keep(n, [str(n) * 50]), range(200)))
    again = FinishedPieces(tmp_path / "pieces.jsonl")
    assert all(again.get(n) == [str(n) * 50] for n in range(200))
