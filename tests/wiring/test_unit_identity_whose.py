"""One budget of the same people, from the file with their text to the refusal: whatever data root, promise or history."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from kedro.framework.project import settings

from fedtext.privacy.history import FILE, FOLDER, History, release_history
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.unit_identity import units_known_by
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject

TEXTS = [f"what person number {i} wrote to somebody" for i in range(40)]
OS_KEY = {"noise_seed": None}


def table(path: Path, texts: list[str]) -> Path:
    """The toy reads a line as a client of its own."""
    path.write_text("\n".join(texts))
    return path


def run(toy: ToyProject, file: Path, root: str = "data", **privacy: Any) -> None:
    toy.run(
        corpus={"path": str(file), "declared_public": False, "client_column": None},
        privacy={**OS_KEY, **privacy},
        data_root=str(toy.path / root),
    )


def refused(*arguments: Any, **privacy: Any) -> str:
    with pytest.raises(RunRefusedError) as error:
        run(*arguments, **privacy)
    assert "data_root=" not in str(error.value)
    assert "fresh" not in str(error.value)
    return str(error.value)


def test_eight_under_replace_one_and_then_six_under_zero_out_are_refused(toy: ToyProject, tmp_path: Path) -> None:
    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file, epsilon=8.0, adjacency="replace_one")
    said = refused(toy, file, epsilon=6.0, adjacency="zero_out")
    assert "may cost epsilon 8; 8 is spent ('toy.mean' x 1: 8); 'toy.mean' would make it 19.19" in said
    assert "counted for a client under replace_one at delta 0.001 as it was promised. Nothing was read." in said
    assert len(release_history(toy.data)) == 1
    run(toy, file, epsilon=8.0, adjacency="replace_one")  # what is made is free


@pytest.mark.sampled(only=("another order",))
@pytest.mark.parametrize(
    "second",
    [
        pytest.param(lambda texts: texts, id="the same file's copy"),
        pytest.param(lambda texts: texts[::-1], id="another order"),
        pytest.param(lambda texts: [*texts[:1], *(f"somebody else, number {i}, has written this" for i in range(9))],
                     id="one of them"),
        pytest.param(lambda texts: [f"  {text.upper()}" for text in texts], id="another spelling"),
    ],
)  # fmt: skip
def test_the_same_people_in_a_second_data_root_have_spent_their_budget(
    toy: ToyProject, tmp_path: Path, second: Any
) -> None:
    run(toy, table(tmp_path / "mine.txt", TEXTS))
    said = refused(toy, table(tmp_path / "copy.txt", second(TEXTS)), "other")
    assert f"may cost epsilon 1; 1 is spent ('toy.mean' x 1 in {toy.data}: 1); 'toy.mean' would make it 1.51" in said
    assert release_history(toy.path / "other") == ()
    assert not (toy.path / "other/02_released/mean.safetensors").exists()
    others = [text.replace("person", "client") for text in TEXTS]
    run(toy, table(tmp_path / "others.txt", others), "others")


@pytest.mark.slow
def test_one_file_in_two_data_roots_is_one_data_set_in_the_report(toy: ToyProject, tmp_path: Path) -> None:
    from fedtext.datasets.run_facts import ReleaseHistoryDataset
    from fedtext.privacy.allowance import Allowance
    from fedtext.privacy.ledger import Ledger
    from fedtext.privacy.report import privacy_report

    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file, "data", total_epsilon=3.0)
    run(toy, file, "other", total_epsilon=3.0)
    ledger = Ledger.model_validate_json((toy.path / "other/02_released/ledger.json").read_text())
    for root in ("data", "other"):
        history = ReleaseHistoryDataset(filepath=str(toy.path / root)).load()
        total = privacy_report(ledger, history=history, allowance=Allowance(total=3.0))["data_set"]
        assert (total["releases"], total["elsewhere"], total["budget"]) == (2, 1, 3.0)
        assert 1.4 < total["epsilon"] < 1.6
        assert "2 answers, 1 of them in another data root, cost epsilon = 1.51" in total["statement"]
        assert str(toy.path) not in json.dumps(total)


@pytest.mark.slow
def test_a_public_corpus_is_counted_in_its_data_root_alone(
    toy: ToyProject, tmp_path: Path, registry_of_the_test: Path
) -> None:
    for root in ("data", "other"):
        toy.run(privacy=OS_KEY, data_root=str(toy.path / root))
    assert len(release_history(toy.data)) == 1
    assert list(registry_of_the_test.iterdir()) == []


def test_an_emptied_history_is_refused_and_a_removed_one_counts(toy: ToyProject, tmp_path: Path) -> None:
    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file)
    history = toy.data / FOLDER / FILE
    whole = history.read_text()
    history.write_text("")
    assert "releases.jsonl is empty" in refused(toy, file, epsilon=0.5)
    history.write_text(whole.replace('"budget":1.0', '"budget":9.0'))
    assert "was shortened or changed" in refused(toy, file, epsilon=0.5)
    history.unlink()
    assert "1 is spent" in refused(toy, file, epsilon=0.5)
    assert history.read_text() == whole
    run(toy, file)


def test_a_data_root_that_was_deleted_has_spent_what_it_had(toy: ToyProject, tmp_path: Path) -> None:
    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file)
    shutil.rmtree(toy.data)
    assert "'toy.mean' was released before" in refused(toy, file), "under a key that is gone"
    assert "1 is spent" in refused(toy, file, "other")


def test_records_that_a_catalog_keeps_in_memory_are_on_record_as_saved_ones_are(
    toy: ToyProject, tmp_path: Path
) -> None:
    catalog = toy.path / "conf" / "base" / "catalog.yml"
    own = yaml.safe_load(catalog.read_text())
    own["private_records"] |= {"type": "MemoryDataset"}
    del own["private_records"]["filepath"]
    catalog.write_text(yaml.safe_dump(own))
    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file)
    run(toy, file)
    assert len(release_history(toy.data)) == 1
    assert "1 is spent" in refused(toy, file, "other")


def slice_that_releases(toy: ToyProject, file: Path, root: str, **privacy: Any) -> None:
    """From the opening of the ledger on: nobody reads whose text lies there."""
    told = {
        "corpus": {"path": str(file), "declared_public": False, "client_column": None},
        "privacy": {**OS_KEY, **privacy},
        "data_root": str(toy.path / root),
    }
    with settings.SESSION_CLASS.create(project_path=toy.path, runtime_params=told) as session:
        session.run(from_nodes=["open_ledger"], to_nodes=["release_mean"])


def test_a_part_of_a_run_releases_nothing_of_people_that_are_not_on_record(toy: ToyProject, tmp_path: Path) -> None:
    """Records that were removed, and a copy of a data root without them, as `cp -r data/*` makes it."""
    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file)
    shutil.copytree(toy.data, toy.path / "copy", ignore=shutil.ignore_patterns(FOLDER))
    shutil.copytree(toy.data, toy.path / "whole copy")
    shutil.rmtree(toy.data / FOLDER)
    for root in ("data", "copy", "whole copy"):
        with refuses("people-not-known", parameter="data_root", value=str(toy.path / root)):
            slice_that_releases(toy, file, root, epsilon=0.5, total_epsilon=3.0)
    assert release_history(toy.path / "copy") == ()
    assert "1 is spent" in refused(toy, file, "copy", epsilon=0.5)
    run(toy, file)
    slice_that_releases(toy, file, "data")  # the same release again


@pytest.mark.slow
def test_records_of_a_data_root_that_were_removed_cost_nothing(toy: ToyProject, tmp_path: Path) -> None:
    """Its key and its texts are there, so the same run makes the same bytes."""
    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file)
    shutil.rmtree(toy.data / FOLDER)
    run(toy, file)
    assert len(release_history(toy.data)) == 1


def test_other_people_may_come_to_a_data_root_that_was_deleted(toy: ToyProject, tmp_path: Path) -> None:
    run(toy, table(tmp_path / "mine.txt", TEXTS))
    shutil.rmtree(toy.data)
    run(toy, table(tmp_path / "others.txt", [text.replace("person", "client") for text in TEXTS]))
    assert "1 is spent" in refused(toy, tmp_path / "mine.txt", "other")


@pytest.mark.slow
def test_a_seeded_run_repeats_its_bytes_in_another_data_root_for_nothing(toy: ToyProject, tmp_path: Path) -> None:
    file = table(tmp_path / "mine.txt", TEXTS)
    for root in ("data", "other"):
        run(toy, file, root, noise_seed=7)
    assert "released before, of other data" in refused(toy, table(tmp_path / "more", TEXTS[:-1]), "third", noise_seed=7)


@pytest.mark.slow
def test_text_that_was_changed_in_a_data_root_is_known_too(toy: ToyProject, tmp_path: Path) -> None:
    """The node that reads it runs again, and whose text it is is asked again."""
    others = [text.replace("person", "client") for text in TEXTS]
    file = table(tmp_path / "mine.txt", others)
    run(toy, table(tmp_path / "first.txt", TEXTS), "first")
    run(toy, file, epsilon=0.5)
    table(file, TEXTS)
    assert f"'toy.mean' x 1 in {toy.path / 'first'}: 1, " in refused(toy, file, epsilon=0.4, total_epsilon=1.2)


@pytest.mark.parametrize("spelled", ["C00000021", "c 00000021", "c0000002１"])
def test_people_are_known_by_an_id_that_is_spelled_otherwise(tmp_path: Path, spelled: str) -> None:
    named = {"corpus": {"source": "table", "client_column": "client_id"}}
    ids = [units_known_by(pd.DataFrame({"client_id": [one], "text": [""]}), named)[0] for one in ("c00000021", spelled)]
    assert ids[0] == ids[1]


def test_ids_count_where_a_column_or_a_list_names_them(tmp_path: Path) -> None:
    records = pd.DataFrame({"client_id": ["a", 7], "text": ["x", "y"]})
    table_of = {"source": "table", "client_column": "client_id"}
    assert units_known_by(records, {"corpus": table_of}) == ({"a", "7"}, {"x", "y"})
    for corpus in ({**table_of, "client_column": None}, {**table_of, "source": "banking77"}):
        assert units_known_by(records, {"corpus": corpus})[0] == set()
    (listed := tmp_path / "ids.txt").write_text("silent\n")
    assert units_known_by(records, {"privacy": {"enrolment": str(listed)}})[0] == {"silent"}


def test_people_whose_record_could_not_be_written_are_recorded_by_the_next_run(
    toy: ToyProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another table was read here before, so that the data root has people on record: others."""
    others = [text.replace("person", "client") for text in TEXTS]
    run(toy, table(tmp_path / "others.txt", others), total_epsilon=3.0)
    mine = table(tmp_path / "mine.txt", TEXTS)
    with monkeypatch.context() as patch:
        patch.setattr(History, "register_units", stopped)
        with pytest.raises(RunRefusedError):
            run(toy, mine, total_epsilon=3.0)
    run(toy, mine, total_epsilon=3.0)
    assert " is spent" in refused(toy, table(tmp_path / "copy.txt", TEXTS), "other")


def stopped(*_: Any) -> None:
    raise RunRefusedError("the registry could not be written", code="registry-not-writable")
