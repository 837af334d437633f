"""Bytes of some work: what is known of it, and that a plan's remedy makes it fit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.models.architecture import architecture_of
from fedtext.params.training import Lora
from fedtext.planning.memory import peak_bytes
from fedtext.planning.plan import Device, remedy
from fedtext.planning.sizes import sizes_of
from fedtext.planning.work import Kind, Work

LLAMA = architecture_of("meta-llama/Meta-Llama-3-8B")
LORA = Lora(rank=4, alpha=8, dropout=0.0, targets="attention_and_mlp")
WRITING = Work(Kind.WRITING, 85e6, 64, 85.0, texts=10**6, lower="popri.sampler.batch_size")
DPO = Work(
    Kind.TRAINING,
    1e6,
    24,
    350.0,
    lora=LORA,
    lower="popri.preference.batch_size",
    checkpointing="popri.preference.activation_checkpointing",
)


def device(memory: float) -> Device:
    return Device("a GPU", round(memory * 2**30), halved=True, disk=2**40)


def test_weights_in_16_bits_are_the_least() -> None:
    weights = 2 * sizes_of(LLAMA).weights
    assert weights < peak_bytes(WRITING, LLAMA, halved=True) < 2 * weights
    assert peak_bytes(WRITING, LLAMA, halved=False) > 6 * sizes_of(LLAMA).weights  # float32, and a copy in 16 bits


def test_keys_and_values_are_as_published() -> None:
    """Llama 3 8B keeps 32 layers x 8 heads x 128 numbers x 2: 128 KiB a token in 16 bits."""
    more = replace(WRITING, row=WRITING.row + 1)
    grown = peak_bytes(more, LLAMA, halved=True) - peak_bytes(WRITING, LLAMA, halved=True)
    assert grown == WRITING.at_once * 128 * 2**10


def test_activations_of_a_training_are_as_measured_and_checkpoints_save_most_of_them() -> None:
    """Measured elsewhere: 63 GB for batches of 24 pairs of 350 tokens at 222 KB a token and layer (design/scale.md)."""
    kept = peak_bytes(DPO, LLAMA, halved=True) - 2 * sizes_of(LLAMA).weights
    assert 63e9 / 1.5 < kept < 63e9 * 1.7
    saved = peak_bytes(replace(DPO, checkpointed=True), LLAMA, halved=True) - 2 * sizes_of(LLAMA).weights
    assert saved < kept / 5


@settings(max_examples=30, deadline=None)
@given(st.floats(18, 60))
def test_a_number_that_a_remedy_names_fits(memory: float) -> None:
    here = device(memory)
    said = remedy(WRITING, LLAMA, here, "generator") if peak_bytes(WRITING, LLAMA, halved=True) > here.memory else ""
    if said.startswith("lower"):
        number = int(said.rpartition(" to ")[2])
        assert peak_bytes(replace(WRITING, at_once=number), LLAMA, halved=True) <= here.memory


@pytest.mark.parametrize(
    ("memory", "said"),
    [(8, "models.generator"), (24, "set popri.preference.activation_checkpointing=true"), (80, "from 24 to")],
)
def test_a_remedy_names_what_makes_it_fit(memory: float, said: str) -> None:
    assert said in remedy(DPO, LLAMA, device(memory), "generator")
