"""More inputs of a day's package as programs pack it, and of Ottawa's affiliations and languages."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from fedtext.largefedbench.tokens import ChunkTokenizer

from .pages import CANADA, US_DATE, US_HOUSE, US_MODS
from .test_counted_and_named import read, write

DAY = f"CREC-{US_DATE}"
GRANULE = f"{DAY}-pt1-PgH3001.htm"


def packed(tmp_path: Path, folder: str, granule: str = GRANULE, *more: str) -> Path:
    """A day's archive, its names as written; `folder` is the beginning of all of them."""
    path = tmp_path / f"us/{DAY}.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (
            (f"{folder}mods.xml", US_MODS),
            (f"{folder}html/{granule}", US_HOUSE),
            *((m, "x") for m in more),
        ):
            entry = zipfile.ZipInfo("x")
            entry.filename = name.replace("/", "\\") if "\\" in folder else name
            archive.writestr(entry, text)
    return tmp_path


@pytest.mark.parametrize(
    "folder", ["", f"{DAY}/", f"./{DAY}/", "/", "//", f"{DAY}//", "C:\\x\\", ".\\", f"a/{DAY}/", f"{DAY}\\{DAY}\\"]
)
def test_whatever_folder_a_day_was_packed_in_it_is_read(tmp_path: Path, words: ChunkTokenizer, folder: str) -> None:
    found = read(packed(tmp_path, folder), "us", words)
    assert "K000001" in {one.speaker_id for one in found.clients}
    assert not any(name.endswith(".htm") for name in found.losses)


def test_a_day_in_nested_folders_is_read(tmp_path: Path, words: ChunkTokenizer) -> None:
    write(tmp_path / f"us/{DAY}/a/{DAY}/mods.xml", US_MODS)
    write(tmp_path / f"us/{DAY}/a/{DAY}/html/{GRANULE}", US_HOUSE)
    assert "K000001" in {one.speaker_id for one in read(tmp_path, "us", words).clients}


def test_names_in_capitals_are_the_granules_that_are_listed(tmp_path: Path, words: ChunkTokenizer) -> None:
    found = read(packed(tmp_path, "", GRANULE.upper()), "us", words)
    assert "K000001" in {one.speaker_id for one in found.clients}
    assert all("PgH3001" in one.client_id for one in found.clients)
    assert not any("PgH3001" in reason for reason in found.losses.values())


def test_the_shadow_of_another_system_is_no_granule(tmp_path: Path, words: ChunkTokenizer) -> None:
    found = read(packed(tmp_path, "", GRANULE, f"__MACOSX/html/._{GRANULE}", f"html/._{GRANULE}"), "us", words)
    assert found.clients
    assert not any("._" in name for name in found.losses)


ONE = '<Affiliation DbId="8" Type="2">Mr. Paul Lee (Harbour West, CPC)</Affiliation>'


@pytest.mark.parametrize(
    ("affiliations", "speaker"),
    [
        (f'<Affiliation DbId="77"/>{ONE}', ("Mr. Paul Lee", "8")),
        (f'<Affiliation DbId="77"> </Affiliation>{ONE}', ("Mr. Paul Lee", "8")),
        (f'{ONE}<Affiliation DbId="9">Ms. Ann Oak</Affiliation>', ("Mr. Paul Lee", "8")),
        ('<Affiliation DbId="8">Minister of Ferries</Affiliation>', ("Minister of Ferries", "8")),
    ],
)
def test_the_first_affiliation_with_a_name_is_the_speakers(
    raw: Path, words: ChunkTokenizer, affiliations: str, speaker: tuple[str, str]
) -> None:
    assert ONE in CANADA
    write(raw / "ca/HAN096-E.XML.xml", CANADA.replace(ONE, affiliations))
    found = {one.text: (one.speaker, one.speaker_id) for one in read(raw, "ca", words).clients}
    (late,) = (who for text, who in found.items() if text.startswith("The member knows"))
    assert late == speaker


@pytest.mark.parametrize(
    "mark",
    [
        "[<I>Interpretation</I>]", "[<I>Voice of interpreter</I>]", "[<I>Technical difficulty</I>]", "[<I>Member responded in Cree</I>]",
        "[<I>Member greeted the House in Cree</I>] Tansi.", "[<I>Member provided remarks in Cree</I>]", "(Member spoke in Latin) Habemus.",
        "[<I>Member spoke in Punjabi</I>] ਸਤ ਸ੍ਰੀ ਅਕਾਲ।", "[<I>Le député s’exprime en cri</I>]", "[<I>Member prayed in Mohawk</I>]",
    ],
)  # fmt: skip
def test_marks_of_other_languages(raw: Path, words: ChunkTokenizer, mark: str) -> None:
    write(raw / "ca/HAN096-E.XML.xml", CANADA.replace("Madam Speaker, the member", f"{mark} Madam Speaker, the member"))
    assert "The member knows the ferries are late. They are late every day, and I asked why. No." in {
        one.text for one in read(raw, "ca", words).clients
    }
