"""How fast this machine works, measured for a few seconds: nothing about any machine is known beforehand.

A few layers of a model of the same shape, with random weights, do a little of the same work by the project's own
functions. The time of a token grows with the numbers that it is multiplied by, so a pace is in seconds a token and
number, and the whole model's follows.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedtext.federation.charged_release import seconds_of_noise
from fedtext.federation.mechanism import PlannedSum, client_messages, planned_sum
from fedtext.federation.query import Query
from fedtext.federation.units import Block
from fedtext.generation.generators.local import sample_responses
from fedtext.models.architecture import Architecture
from fedtext.models.language_model import Tokenizer
from fedtext.models.source import SHIPPED
from fedtext.params.generation import Sampler
from fedtext.params.privacy import Privacy
from fedtext.planning.sizes import model_class, sizes_of, with_layers
from fedtext.planning.work import Kind, Work
from fedtext.privacy.noise import new_noise_key
from fedtext.privacy.signal import Signal
from fedtext.system.atomic import write_text
from fedtext.system.cores import over_cores
from fedtext.system.hardware import bfloat16_if_faster, compute_device, is_bfloat16_faster
from fedtext.training.lora import lora_config
from fedtext.training.unit_gradients import UnitGradients

if TYPE_CHECKING:
    import torch

MOST_NUMBERS = 60_000_000  # of a measured model's layers, except that it has one at least
MOST_LAYERS, VOCABULARY, LONGEST_PROMPT, MOST_TOKENS = 2, 4096, 64, 512
ENOUGH_ROWS = 64  # side by side on a CPU: arithmetic dominates from there on (fedtext.system.precision)
STEPS = (4, 16)  # tokens of a short and of a longer text, whose difference is writing alone
UNITS, NUMBERS = 16, 16384  # messages of a trial, and their numbers


@dataclass
class Paces:
    """The paces of this machine, which a plan measures and keeps in a file, and a run reads there.

    Attributes:
        privacy: The run's privacy declaration, which decides how messages are rounded and noised.
        file: Where they are kept.
        measures: Whether they are measured, each when it is first asked for; else one that the file lacks is not a
            number.
    """

    privacy: Privacy
    file: Path
    measures: bool
    _measured: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the file, if nothing is to be measured."""
        if not self.measures and self.file.is_file():
            self._measured = json.loads(self.file.read_text("utf-8"))

    def seconds(self, work: Work, architecture: Architecture) -> float:
        """Return the seconds of some work with a model."""
        multiplied = sizes_of(architecture).multiplied
        total = work.tokens * self._pace(architecture, work.kind, work)
        if work.kind == Kind.WRITING:
            total += work.shown * self._pace(architecture, Kind.READING, work)
        if work.referred:
            total += work.referred * self._pace(architecture, Kind.READING, work)
        repeated = 4 / 3 if work.checkpointed else 1.0  # a forward pass more to a forward and a backward of twice that
        return total * multiplied * repeated / work.devices

    def message_seconds(self, signal: Signal) -> float:
        """Return the seconds of the messages of one release's units, and of its noise."""
        message = self._known("a number of a message", lambda: _message_pace(self.privacy))
        noise = self._known("a number of noise", lambda: _noise_pace(self.privacy))
        return signal.numbers * signal.steps * (signal.asked * message + max(signal.draws, 1) * noise)

    def _pace(self, architecture: Architecture, kind: Kind, work: Work) -> float:
        adapter = work.lora.model_dump_json() if work.lora else "all weights"
        trains = kind in (Kind.TRAINING, Kind.PRIVATE_TRAINING)
        rows = _rows(work, kind)
        key = f"{kind} {architecture.source}, {rows} rows of {_length(work, kind)}{f', {adapter}' if trains else ''}"
        return self._known(key, lambda: _measured(architecture, kind, work))

    def _known(self, key: str, measure: Callable[[], float]) -> float:
        key = f"{compute_device()} {key}"
        if key not in self._measured and self.measures:
            self._measured[key] = measure()
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_text(self.file, json.dumps(self._measured, indent=1))
        return self._measured.get(key, math.nan)


def _rows(work: Work, kind: Kind) -> int:
    if compute_device().type != "cpu":
        return work.at_once
    most = {Kind.WRITING: ENOUGH_ROWS, Kind.READING: 8, Kind.TRAINING: 8, Kind.PRIVATE_TRAINING: 8}
    return max(min(work.at_once, most[kind]), 1)


def _length(work: Work, kind: Kind) -> int:
    """Return the tokens of a measured row, in steps: a pace does not depend on a few of them."""
    longest = LONGEST_PROMPT if kind == Kind.WRITING else MOST_TOKENS
    return int(max(min(round(work.row / 32) * 32, longest), 16))


def _measured(architecture: Architecture, kind: Kind, work: Work) -> float:
    """Return seconds a token and multiplied number."""
    import torch

    device, rows = compute_device(), _rows(work, kind)
    dtype = torch.bfloat16 if device.type == "cuda" and is_bfloat16_faster(device) else torch.float32
    config = _small(architecture)
    multiplied = sizes_of(Architecture(f"{architecture.source}, a part", config, read=True)).multiplied
    with torch.random.fork_rng(), torch.device(device):
        model = model_class(config).from_config(config, dtype=dtype).eval()
    length = min(_length(work, kind), _longest(config))
    measure = {
        Kind.WRITING: _writing,
        Kind.READING: _reading,
        Kind.TRAINING: _training,
        Kind.PRIVATE_TRAINING: _private_training,
    }[kind]
    return measure(model, rows, length, work) / multiplied


def _small(architecture: Architecture) -> Any:
    """Return the configuration of a few of the model's layers, with few tokens to choose from."""
    layer = (sizes_of(architecture).multiplied) // sizes_of(architecture).layers
    layers = max(min(MOST_NUMBERS // max(layer, 1), MOST_LAYERS, sizes_of(architecture).layers), 1)
    config = with_layers(architecture.config, layers)
    config.vocab_size = min(config.vocab_size, VOCABULARY)
    config.pad_token_id = config.bos_token_id = config.eos_token_id = 0
    return config


def _longest(config: Any) -> int:
    return int(getattr(config, "max_position_embeddings", None) or 512) - max(STEPS) - 2


def _fastest(work: Callable[[], Any], device: torch.device) -> float:
    """Return the seconds of the faster of two trials: the first one compiles.

    Of a CPU the processor's time counts, shared out over its cores: others may be using the machine just now.
    """
    import torch

    taken = []
    for _ in range(2):
        began = _now(device)
        work()
        taken.append(_now(device) - began)
    return min(taken) / (torch.get_num_threads() if device.type == "cpu" else 1)


def _now(device: torch.device) -> float:
    import torch

    if device.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


def _writing(model: Any, rows: int, length: int, work: Work) -> float:
    """Time responses of two lengths to the same prompts; the difference is writing alone."""
    tokenizer = Tokenizer(SHIPPED).load()
    shared = min(work.shared, rows)
    prompts = max(rows // shared, 1)
    words = "a " * length

    def write(tokens: int) -> float:
        sampler = _sampler(tokens, prompts * shared)
        return _fastest(
            lambda: sample_responses(model, tokenizer, [words] * prompts, responses=shared, sampler=sampler, seed=0),
            model.device,
        )

    short, long = (write(tokens) for tokens in STEPS)
    return max(long - short, long / max(STEPS) / 4) / (STEPS[1] - STEPS[0]) / (prompts * shared)


def _sampler(tokens: int, rows: int) -> Sampler:
    return Sampler(
        temperature=1.0,
        top_p=1.0,
        min_p=0.03,
        top_k=None,
        no_repeat_ngram=None,
        max_new_tokens=tokens,
        batch_size=rows,
        repetition_penalty=1.0,
        legible_only=False,
        prompt="list",
        examples=True,
        shots=1,
        openings=(),
        description=None,
    )


def _reading(model: Any, rows: int, length: int, work: Work) -> float:
    """Time forward passes, on a CPU one a core."""
    import torch

    batches = [torch.ones((rows, length), dtype=torch.long, device=model.device) for _ in range(4)]

    def read(batch: Any) -> None:
        with torch.inference_mode(), bfloat16_if_faster(model.device):
            model(input_ids=batch)

    taken = _fastest(lambda: list(over_cores(read, batches, len(batches), model.device)), model.device)
    return taken / (len(batches) * rows * length)


def _training(model: Any, rows: int, length: int, work: Work) -> float:
    """Time forward and backward passes."""
    import torch

    trained = _adapted(model, work)
    batch = torch.ones((rows, length), dtype=torch.long, device=model.device)
    optimiser = torch.optim.AdamW([one for one in trained.parameters() if one.requires_grad], lr=0.0)

    def train() -> None:
        with bfloat16_if_faster(model.device):
            loss = trained(input_ids=batch, use_cache=False).logits.float().logsumexp(-1).mean()
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()

    return _fastest(train, model.device) / (rows * length)


def _private_training(model: Any, rows: int, length: int, work: Work) -> float:
    """Time the gradients of single units."""
    trained = _adapted(model, work)
    gradients = UnitGradients.by("opacus" if model.device.type == "cuda" else "vmap", trained, rows)
    weights = np.zeros(sum(one.numel() for one in trained.parameters() if one.requires_grad), dtype=np.float32)
    units = np.arange(4 * rows)
    tokens = np.ones((len(units), length), dtype=np.int32)
    return _fastest(lambda: list(gradients.of(weights, tokens, units)), model.device) / (len(units) * length)


def _adapted(model: Any, work: Work) -> Any:
    import warnings

    if work.lora is None:
        return model
    from peft import get_peft_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT asks for a property by an older name
        return get_peft_model(model, lora_config(model, work.lora))


def _trial(privacy: Privacy) -> PlannedSum:
    """Return the plan of a sum that nobody releases."""
    full = privacy.model_copy(update={"sampling": "full", "clients_per_round": None, "noise_multiplier": None})
    return planned_sum(Query("plan.trial", 0, NUMBERS, 1.0, 1.0), full, UNITS)


def _message_pace(privacy: Privacy) -> float:
    """Return the seconds of a number of a unit's message."""
    planned, units = _trial(privacy), np.arange(UNITS)
    block = Block(units, np.full((UNITS, NUMBERS), NUMBERS**-0.5))
    began = time.process_time()
    sent = list(client_messages([block], planned, units, new_noise_key(0), ("plan", "messages")))
    return (time.process_time() - began) / (len(sent) * NUMBERS)


def _noise_pace(privacy: Privacy) -> float:
    """Return the seconds of a number's noise."""
    return seconds_of_noise(_trial(privacy).stddev_on_grid, NUMBERS) / NUMBERS
