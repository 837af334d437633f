"""The final set: with a release the best of everything that was written, without one the last texts as they come."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedtext.pipelines.popri.nodes import match_public_control, select_synthetic, select_synthetic_by_release
from tests.algorithms.popri.examples import candidates, popri, unit_rows

CHECKPOINT = {"adapter": 2}
ROUNDS = [candidates([f"round {t}, text {i}" for i in range(6)]) for t in range(3)]
LAST = candidates(["", *(f"last, text {i}" for i in range(5))])


def embedded(table: pd.DataFrame, seed: int) -> np.ndarray:
    return np.where((table["text"] != "").to_numpy()[:, None], unit_rows(seed, len(table)), 0.0)


def chosen(released: np.ndarray, last: pd.DataFrame = LAST) -> tuple[pd.DataFrame, np.ndarray]:
    parameters = popri(synthetic_texts=4, oversample=2.0)
    rows = [embedded(table, seed) for seed, table in enumerate(ROUNDS)]
    return select_synthetic_by_release(last, embedded(last, 9), CHECKPOINT, parameters, released, *ROUNDS, *rows)


def test_candidates_of_every_round_may_be_chosen_and_say_how_often_their_adapter_was_trained() -> None:
    wanted = embedded(ROUNDS[1], 1)  # what the second round's candidates are like
    table, embeddings = chosen(wanted.mean(axis=0, keepdims=True))
    assert len(table) == 4 == len(embeddings)
    from_rounds = table[table["text"].str.startswith("round")]
    assert not from_rounds.empty
    assert (from_rounds["text"].str.slice(6, 7).astype(int) == from_rounds["round"]).all()
    assert (table.loc[table["text"].str.startswith("last"), "round"] == CHECKPOINT["adapter"]).all()


def test_the_set_is_nearer_to_the_release_than_the_last_texts_alone_can_be() -> None:
    released = embedded(ROUNDS[0], 0).mean(axis=0, keepdims=True)
    parameters = popri(synthetic_texts=4, oversample=2.0)
    _, of_all = chosen(released)
    _, of_last = select_synthetic_by_release(LAST, embedded(LAST, 9), CHECKPOINT, parameters, released)
    far, near = (np.linalg.norm(rows.mean(axis=0) - released[0]) for rows in (of_last, of_all))
    assert near < far


def test_a_text_that_was_written_twice_is_chosen_once_and_an_empty_one_never() -> None:
    last = candidates(["", *ROUNDS[0]["text"][:5]])
    table, _ = chosen(embedded(ROUNDS[0], 0).mean(axis=0, keepdims=True), last)
    assert table["text"].is_unique
    assert (table["text"] != "").all()


def test_without_a_release_the_last_texts_come_as_they_are() -> None:
    parameters = popri(scoring="mean_cosine", synthetic_texts=4)
    table, _ = select_synthetic(LAST, embedded(LAST, 9), CHECKPOINT, parameters)
    assert table["text"].tolist() == [f"last, text {i}" for i in range(4)]
    assert set(table["round"]) == {2}


def test_the_matched_control_chooses_among_written_texts_too() -> None:
    public, written = (candidates([f"{kind} {i}" for i in range(6)]) for kind in ("public", "untuned"))
    rows, own = embedded(public, 1), embedded(written, 2)
    released = own[2:4].mean(axis=0, keepdims=True)  # what two of the written texts are like
    parameters = popri(synthetic_texts=2)
    table = match_public_control(public, rows, written, own, released, parameters)
    assert set(table["text"]) == {"untuned 2", "untuned 3"}
    none = match_public_control(public, rows, written[:0], own[:0], released, parameters)
    assert all(text.startswith("public") for text in none["text"])
