"""The user's registry: the same people in whatever data root, for nobody else's eyes, and never silently anew.

A sketch finds the same people, tells nobody anything without the key, and does not say how many there are.
"""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.privacy.registry import SIZE, Registry, Sketch, sketch
from fedtext.system.atomic import PARTIAL
from tests.privacy.histories import release, spent
from tests.refusals import refuses

ONE, TWO = (spent(release(round=t), f"receipt {t}") for t in (1, 2))
TEXTS = [f"what person number {i} wrote to somebody" for i in range(40)]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "state")


def told(registry: Registry, root: Path, texts: list[str], *entries: object) -> None:
    with registry.locked():
        registry.register_data_set(root, [], texts)
        registry.add(root, entries)  # type: ignore[arg-type]


def related(registry: Registry, root: Path) -> set[str]:
    return {Path(one.path).name for one in registry.related([root])}


def test_to_look_leaves_nothing_behind(registry: Registry, tmp_path: Path) -> None:
    assert registry.related([tmp_path]) == []
    assert registry.data_root(tmp_path).releases == ()
    assert not registry.folder.exists()


def test_data_roots_over_the_same_people_are_related_and_others_are_not(registry: Registry, tmp_path: Path) -> None:
    told(registry, tmp_path / "first", TEXTS, ONE)
    told(registry, tmp_path / "same", TEXTS[::-1], TWO)
    told(registry, tmp_path / "part", [*TEXTS[:1], "something that nobody else has written"])
    told(registry, tmp_path / "others", [text.replace("person", "client") for text in TEXTS])
    assert related(registry, tmp_path / "first") == {"first", "same", "part"}
    assert related(registry, tmp_path / "others") == {"others"}
    assert len(list((registry.folder / "data_sets").glob("*/*"))) == 3, "one data set, one sketch"


def test_what_another_run_is_writing_or_left_half_written_is_no_entry(registry: Registry, tmp_path: Path) -> None:
    told(registry, tmp_path / "first", TEXTS, ONE)
    (registry.folder / "data_roots" / f"{PARTIAL}0123.json").write_text('{"path": "/da')
    assert related(registry, tmp_path / "first") == {"first"}


def test_a_data_root_keeps_what_was_released_and_in_which_order(registry: Registry, tmp_path: Path) -> None:
    told(registry, tmp_path, TEXTS, ONE, TWO, ONE)
    (root,) = registry.related([tmp_path])
    assert [one.entry for one in root.releases] == [ONE, TWO]
    assert root.releases[0].made <= root.releases[1].made


def test_files_are_for_their_owner_alone_and_hold_no_text(registry: Registry, tmp_path: Path) -> None:
    told(registry, tmp_path, TEXTS, ONE)
    files = [file for file in registry.folder.rglob("*") if file.is_file() and file.name != "lock"]
    assert {file.relative_to(registry.folder).parts[0] for file in files} == {"key", "data_sets", "data_roots"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    folders = [registry.folder, *(file for file in registry.folder.rglob("*") if file.is_dir())]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    assert not any(b"person" in file.read_bytes() for file in files)


@pytest.mark.parametrize("lost", ["key", "data_sets/*/*", "data_roots/*"])
@pytest.mark.parametrize("damage", [b"damaged", b"", b"\xff\xfe"])
def test_a_damaged_registry_is_refused_and_kept(registry: Registry, tmp_path: Path, lost: str, damage: bytes) -> None:
    told(registry, tmp_path / "first", TEXTS, ONE)
    told(registry, tmp_path / "second", TEXTS, TWO)
    file = next(iter(registry.folder.glob(lost)))
    file.write_bytes(damage)

    def look() -> None:
        told(registry, tmp_path / "third", TEXTS)
        registry.related([tmp_path / "third"])

    with refuses("registry-damaged"):
        look()
    assert file.read_bytes() == damage


def test_a_key_that_is_gone_is_not_made_anew(registry: Registry, tmp_path: Path) -> None:
    """Another key would know nobody again."""
    told(registry, tmp_path / "first", TEXTS, ONE)
    (registry.folder / "key").unlink()
    with refuses("registry-damaged"):
        told(registry, tmp_path / "second", TEXTS)


@pytest.mark.parametrize("other", ["ab" * 5, "ab" * 32])
def test_another_key_would_know_nobody_again_and_is_refused(registry: Registry, tmp_path: Path, other: str) -> None:
    told(registry, tmp_path / "first", TEXTS, ONE)
    (registry.folder / "key").write_text(other)
    with refuses("registry-damaged"):
        told(registry, tmp_path / "second", TEXTS)
    with refuses("registry-damaged"):
        registry.related([tmp_path / "first"])


def test_a_path_may_become_other_people_s_and_theirs_still_counts(registry: Registry, tmp_path: Path) -> None:
    told(registry, tmp_path / "first", TEXTS, ONE)
    others = [text.replace("person", "client") for text in TEXTS]
    with registry.locked():
        assert registry.is_of(tmp_path / "first", [], TEXTS[:1])
        assert not registry.is_of(tmp_path / "first", [], others)
        registry.retire(tmp_path / "first")
    told(registry, tmp_path / "first", others)
    assert related(registry, tmp_path / "first") == {"first"}
    told(registry, tmp_path / "second", TEXTS)
    assert related(registry, tmp_path / "second") == {"second", "first, which was removed"}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refuses("registry-not-writable"):
        told(Registry(tmp_path / "file" / "state"), tmp_path, TEXTS)


def test_the_environment_says_where_it_is(registry_of_the_test: Path) -> None:
    assert Registry().folder == registry_of_the_test


KEY, OTHER = b"k" * 32, b"o" * 32


def texts(first: int, last: int) -> list[str]:
    return [f"what person number {i} wrote to somebody" for i in range(first, last)]


def of(clients: list[str] = (), written: list[str] = (), key: bytes = KEY) -> Sketch:  # type: ignore[assignment]
    return sketch(clients, written, key)[1]


def test_the_same_text_in_another_order_and_spelling_is_the_same_data_set() -> None:
    name, one = sketch(["a"], texts(0, 50), KEY)
    again, other = sketch(["a"], [text.upper().replace(" ", "\n ") for text in reversed(texts(0, 50))], KEY)
    assert name == again
    assert one.shares_units(other)
    assert not np.array_equal(one.texts, other.texts), "filled up by chance"
    assert sketch(["a"], texts(0, 49), KEY)[0] != name
    assert sketch([], texts(0, 50), KEY)[0] != name


@given(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
def test_of_two_small_data_sets_one_unit_in_common_is_found(mine: int, theirs: int) -> None:
    one, other = texts(0, mine), texts(SIZE, SIZE + theirs)
    assert not of(written=one).shares_units(of(written=other))
    assert of(written=[*one, "a text of nearly thirty letters"]).shares_units(
        of(written=[*other, "a text of nearly thirty letters"])
    )


def test_clients_are_found_whatever_they_wrote() -> None:
    assert of(["ann@example.org", "x"], texts(0, 9)).shares_units(of(["y", "ann@example.org"], texts(10, 19)))
    assert not of(["ann@example.org"], texts(0, 9)).shares_units(of(["bob@example.org"], texts(10, 19)))


def test_of_large_data_sets_a_tenth_in_common_is_found() -> None:
    assert of(written=texts(0, 20_000)).shares_units(of(written=texts(18_000, 38_000)))
    assert of(written=texts(0, 20_000)).shares_units(of(written=texts(19_000, 20_000)))


@pytest.mark.parametrize("clients", [["1", "17", "004211"], [""]])
def test_what_may_be_anybody_s_tells_nothing(clients: list[str]) -> None:
    assert not of(clients, ["yes", "Thank you very much!"]).shares_units(of(clients, ["yes", "Thank you very much!"]))
    assert of(["5551234"]).shares_units(of(["5551234"])), "a number of seven digits is somebody's"


def test_without_the_key_nothing_is_found_again_and_no_number_is_seen() -> None:
    few, many = of(["ann@example.org"], texts(0, 3)), of(["bob@example.org"], texts(3, 50_000))
    assert not few.shares_units(of(["ann@example.org"], texts(0, 3), OTHER))
    for one in (few, many):
        assert len(one.to_bytes()) == 2 * SIZE * 8
        assert np.unique(one.texts).size == SIZE
        uniform = one.texts / 2.0**64  # the smallest of many would lie far below
        assert abs(uniform.mean() - 0.5) < 0.04
        assert uniform.max() > 0.99


def test_bytes_keep_a_sketch() -> None:
    one = of(["ann@example.org"], texts(0, 9))
    read = Sketch.of_bytes(one.to_bytes())
    assert np.array_equal(read.clients, one.clients)
    assert np.array_equal(read.texts, one.texts)
    with pytest.raises(ValueError, match="not 7"):
        Sketch.of_bytes(b"x" * 7)
