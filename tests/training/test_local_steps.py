"""Steps and shapes of a client: its own rows decide both, every row is taken once an epoch, little is padding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.params.federated import LocalTraining
from fedtext.training.local_steps import (
    NO_ROW,
    NO_TOKEN,
    LocalSteps,
    groups_of_one_shape,
    local_steps,
    shown_tokens,
)
from tests.parameters import conf_base

LOCAL = conf_base(LocalTraining, epochs=2, batch_size=4, learning_rate=0.1)


def table(lengths: list[int], width: int = 0) -> np.ndarray:
    """A row of its own token for each length."""
    tokens = np.full((len(lengths), max([*lengths, width])), NO_TOKEN)
    for row, length in enumerate(lengths):
        tokens[row, :length] = row
    return tokens


def steps_of(lengths: list[int], local: LocalTraining = LOCAL, seed: int = 0, code: int = 5) -> LocalSteps:
    (own,) = local_steps(table(lengths), np.full(len(lengths), code), local, seed)
    return own


@given(st.lists(st.integers(1, 90), min_size=1, max_size=20), st.integers(1, 5))
def test_every_row_is_taken_once_an_epoch_in_batches_that_are_full_but_for_the_last(
    lengths: list[int], batch_size: int
) -> None:
    own = steps_of(lengths, LOCAL.model_copy(update={"batch_size": batch_size}))
    for epoch in np.split(own.rows.reshape(-1), LOCAL.epochs):
        assert sorted(epoch[: len(lengths)]) == list(range(len(lengths)))
        assert set(epoch[len(lengths) :]) <= {NO_ROW}
    assert len(own.rows) == LOCAL.epochs * -(-len(lengths) // batch_size)


def test_epochs_seeds_and_codes_shuffle_anew() -> None:
    lengths = [3] * 40
    first, second = np.split(steps_of(lengths).rows, 2)
    orders = [first, second, steps_of(lengths, seed=1).rows[:10], steps_of(lengths, code=6).rows[:10]]
    assert len({order.tobytes() for order in orders}) == 4


@pytest.mark.parametrize(("rows", "places"), [(1, 1), (2, 2), (3, 4), (4, 4), (9, 4)])
def test_few_rows_take_few_places(rows: int, places: int) -> None:
    assert steps_of([7] * rows).shape[0] == places


@pytest.mark.parametrize(("longest", "positions"), [(1, 16), (2, 16), (17, 16), (18, 32), (65, 64), (66, 80)])
def test_positions_are_those_of_the_longest_row_rounded_up(longest: int, positions: int) -> None:
    assert steps_of([1, longest]).positions == positions


def test_a_client_shuffles_places_among_its_own_rows_and_no_row_numbers() -> None:
    alone = steps_of([3, 4, 5, 6, 7])
    client = np.array([9, 5, 5, 9, 5, 2, 5, 5])
    own = next(found for found in local_steps(table([9] * 8), client, LOCAL, 0) if found.code == 5)
    at = np.append(np.flatnonzero(client == 5), NO_ROW)
    np.testing.assert_array_equal(own.rows, at[alone.rows])


def test_groups_have_one_shape_and_clients_of_like_numbers_of_steps() -> None:
    sizes = np.random.default_rng(0).integers(1, 30, size=100)
    client = np.repeat(np.arange(100), sizes)
    tokens = table(np.random.default_rng(1).integers(1, 65, size=len(client)).tolist())
    clients = list(local_steps(tokens, client, LOCAL, 0))
    groups = groups_of_one_shape(iter(clients), 8)
    assert sorted(own.code for group in groups for own in group) == list(range(100))
    assert all(len({own.shape for own in group}) == 1 and len(group) <= 8 for group in groups)
    computed = sum(shown_tokens(tokens, group, 8)[..., 1:].size for group in groups)
    assert computed < 1.6 * LOCAL.epochs * 64 * len(client)  # of hardly a hundred clients many are a shape's last


def test_missing_clients_rows_and_tokens_show_no_token() -> None:
    tokens, client = table([3, 5, 2, 4, 18], width=70), np.array([1, 1, 1, 2, 3])
    local = LOCAL.model_copy(update={"epochs": 1, "batch_size": 2})
    (both,) = groups_of_one_shape(local_steps(tokens[:3], client[:3], local, 0), 2)
    shown = shown_tokens(tokens, both, 2)
    assert shown.shape == (2, 2, 2, 17)
    assert sorted((shown[:, 0].reshape(4, -1) >= 0).sum(axis=1)) == [0, 2, 3, 5]
    assert (shown[:, 1] == NO_TOKEN).all()
    assert sorted(group[0].shape for group in groups_of_one_shape(local_steps(tokens, client, local, 0), 2)) == [
        (1, 16),
        (1, 32),
        (2, 16),
    ]
