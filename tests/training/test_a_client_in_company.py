"""A client's update is a function of the client, to the bit: company, order, place in the table and process do not show.

Each test compares bytes, in float32 and in bfloat16: nearly alike is not enough, since a sum that hides one client is
calibrated to that client's own update.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedModel

from fedtext.models.language_model import LanguageModel
from fedtext.params.federated import LocalTraining
from fedtext.system import hardware
from fedtext.training.federated_averaging import client_updates
from tests.training.conftest import InMemory

LOCAL = LocalTraining(epochs=2, batch_size=2, learning_rate=0.3, clients_at_once=3)
Table = tuple[np.ndarray, np.ndarray]


# Processors without units for bfloat16 imitate it many times slower, and no run of theirs uses it.
NIGHTLY = [] if torch.cpu._is_avx512_bf16_supported() else [pytest.mark.slow]


@pytest.fixture(params=["float32", pytest.param("bfloat16", marks=NIGHTLY)], autouse=True)
def precision(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedtext.system.hardware.is_bfloat16_faster", lambda device: request.param == "bfloat16")


@pytest.fixture(params=["llama", "gpt2", "on_device"])
def model(request: pytest.FixtureRequest) -> PreTrainedModel:
    if request.param == "on_device":
        return LanguageModel("bundled:on_device").load()[0]
    return request.getfixturevalue(request.param).load()[0]


def made_up(rows: dict[int, list[int]], seed: int = 0) -> Table:
    """Random rows of these lengths for each client, rows of different clients mixed."""
    lengths = [(code, length) for code, own in rows.items() for length in own]
    tokens = np.full((len(lengths), max(length for _, length in lengths)), -1)
    for (code, length), row in zip(lengths, tokens, strict=True):
        row[:length] = np.random.default_rng([seed, code, length]).integers(3, 50, size=length)
    client = np.array([code for code, _ in lengths], dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(client))
    return tokens[order], client[order]


def some_clients(count: int) -> dict[int, list[int]]:
    """`count` clients with 63-bit codes, mostly of one to three rows, one with many."""
    rng = np.random.default_rng(7)
    sizes = [9, *rng.integers(1, 4, size=count - 1)]
    return {int(rng.integers(2**63)): rng.integers(2, 41, size=size).tolist() for size in sizes}


def updates(model: PreTrainedModel, table: Table, local: LocalTraining = LOCAL, **options: Any) -> dict[int, bytes]:
    """Each client's update, as bytes."""
    blocks = client_updates(copy.deepcopy(model), *table, local, seed=5, **options)
    return {code: row.tobytes() for unit, rows in blocks for code, row in zip(unit.tolist(), rows, strict=True)}


def of_clients(table: Table, codes: list[int], rng: np.random.Generator) -> Table:
    """Rows of some clients, each client's in their old order, its rows among others' anew; another padding."""
    tokens, client = table
    taken = rng.permuted(client[np.isin(client, codes)])
    order = np.empty(len(taken), dtype=int)
    for code in codes:
        order[taken == code] = np.flatnonzero(client == code)
    wider = np.full((len(order), rng.integers(1, 30)), -1)
    return np.concatenate([tokens[order], wider], axis=1), client[order]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("vectorised", [True, False])
def test_company_order_and_padding_do_not_show(model: PreTrainedModel, vectorised: bool) -> None:
    rng = np.random.default_rng(1)
    table = made_up(some_clients(11))
    everybody = updates(model, table, vectorised=vectorised)
    codes = list(everybody)
    assert len(set(everybody.values())) == 11
    for company in [codes, codes[1:], codes[:5], codes[5:], [codes[0]], [codes[4]], [codes[10]]]:
        found = updates(model, of_clients(table, company, rng), vectorised=vectorised)
        assert found == {code: everybody[code] for code in company}


@pytest.mark.parametrize("vectorised", [True, False])
def test_other_numbers_under_the_other_clients_do_not_show(llama: InMemory, vectorised: bool) -> None:
    model, rows = llama.load()[0], some_clients(8)
    one = next(reversed(rows))
    plain, other = made_up(rows), made_up(rows)
    strangers = other[1] != one
    other[0][strangers] = np.where(other[0][strangers] >= 0, 4, -1)
    first, second = (updates(model, table, vectorised=vectorised) for table in (plain, other))
    assert [code for code in first if first[code] == second[code]] == [one]


@pytest.mark.sampled(only=("float32",))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=7), min_size=1, max_size=8),
    batch_size=st.integers(1, 4),
    at_once=st.integers(1, 5),
)
def test_any_client_alone_is_as_in_any_company(
    llama: InMemory, sizes: list[list[int]], batch_size: int, at_once: int
) -> None:
    model = llama.load()[0]
    local = LOCAL.model_copy(update={"batch_size": batch_size, "clients_at_once": at_once, "epochs": 1})
    table = made_up(dict(enumerate(sizes)))
    together = updates(model, table, local)
    assert sorted(together) == list(range(len(sizes)))
    for code in range(len(sizes)):
        own = table[1] == code
        assert updates(model, (table[0][own], table[1][own]), local) == {code: together[code]}


@pytest.mark.parametrize("vectorised", [True, False])
def test_a_client_that_diverges_sends_zeros_and_its_company_what_it_learnt(llama: InMemory, vectorised: bool) -> None:
    model = llama.load()[0]
    table = made_up({0: [14], 1: [14, 13, 12], 2: [14]})  # at this rate a second step leaves float32
    wild = LOCAL.model_copy(update={"learning_rate": 1e30, "epochs": 1, "batch_size": 1})
    together = updates(model, table, wild, vectorised=vectorised)
    assert {code for code, update in together.items() if any(update)} == {0, 2}
    others = table[1] != 1
    without = updates(model, (table[0][others], table[1][others]), wild, vectorised=vectorised)
    assert without == {code: together[code] for code in (0, 2)}


def sha256(found: dict[int, bytes]) -> dict[str, str]:
    return {str(code): hashlib.sha256(update).hexdigest() for code, update in found.items()}


IN_ANOTHER_PROCESS = """
import json, sys, fedtext.system.hardware, numpy as np
from fedtext.system import hardware
from fedtext.models.language_model import LanguageModel
from tests.training.test_a_client_in_company import made_up, of_clients, sha256, some_clients, updates
fedtext.system.hardware.is_bfloat16_faster = lambda device: sys.argv[1] == "True"
rows = some_clients(9)
table = of_clients(made_up(rows), list(rows)[::2], np.random.default_rng(8))
print(json.dumps(sha256(updates(LanguageModel("bundled:on_device").load()[0], table))))
"""


@pytest.mark.sampled(only=("float32",))
@pytest.mark.parametrize("threads", [pytest.param("1", marks=pytest.mark.slow), "3"])
def test_another_process_with_other_threads_gives_the_same_bytes(threads: str) -> None:
    in_bfloat16 = str(hardware.is_bfloat16_faster(torch.device("cpu")))
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, in_bfloat16],
        env={**os.environ, "OMP_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        check=True,
    )
    everybody = sha256(updates(LanguageModel("bundled:on_device").load()[0], made_up(some_clients(9))))
    found = json.loads(done.stdout)
    assert len(found) == 5
    assert found == {code: everybody[code] for code in found}
