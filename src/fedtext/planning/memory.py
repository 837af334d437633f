"""The bytes that some work takes on the device, and what a finished run leaves on the disk."""

from __future__ import annotations

from fedtext.models.architecture import Architecture
from fedtext.planning.sizes import Sizes, sizes_of
from fedtext.planning.work import Kind, Work

NUMBER, HALF = 4, 2  # bytes of a float32, and of a bfloat16 or float16
OPTIMISER = 3  # float32 numbers beside each trained one: its gradient, and Adam's two moments
SCORES = 3  # copies of a row's scores of all tokens, while one is drawn or a loss is computed
TEXT = 200  # bytes of a saved text, compressed, with what stands beside it


def peak_bytes(work: Work, architecture: Architecture, *, halved: bool) -> int:
    """Return the bytes at the peak of some work with a model; `halved`: the device computes in 16 bits."""
    sizes = sizes_of(architecture, work.lora, trained=work.trains)
    number = HALF if halved and work.kind != Kind.PRIVATE_TRAINING else NUMBER
    stored = NUMBER if work.trains and work.lora is None else number  # steps of all weights are made in float32
    return round(sizes.weights * stored + _beside(work, sizes, number, halved=halved))


def _beside(work: Work, sizes: Sizes, number: int, *, halved: bool) -> float:
    """Return the bytes beside the weights."""
    rows, tokens = work.at_once, work.at_once * work.row
    if work.kind == Kind.WRITING:
        copied = 0 if halved else sizes.weights * HALF  # a CPU decodes with a copy in 16 bits
        return copied + tokens * sizes.cached * number + rows * sizes.vocabulary * NUMBER * SCORES
    if work.kind == Kind.READING:
        return tokens * sizes.hidden * number * 8
    kept = sizes.kept * number / HALF  # a layer's, for each token
    layers = 1 if work.checkpointed else sizes.layers
    passed = sizes.layers * sizes.hidden * number if work.checkpointed else 0
    activations = tokens * (layers * kept + passed) + tokens * sizes.vocabulary * NUMBER * SCORES
    trained = sizes.trained * NUMBER * OPTIMISER
    if work.kind == Kind.PRIVATE_TRAINING:
        trained += rows * sizes.trained * NUMBER  # a gradient for each of the units side by side
    return activations + trained


def adapter_bytes(work: Work, architecture: Architecture) -> int:
    """Return the bytes of the weights that a training leaves on the disk."""
    return sizes_of(architecture, work.lora, trained=True).trained * NUMBER if work.trains else 0


def text_bytes(work: Work, embedding: int) -> int:
    """Return the bytes of written texts on the disk, with their embeddings."""
    return work.texts * (TEXT + embedding * NUMBER)
