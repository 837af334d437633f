"""DP-FT's nodes: thin, pure calls into fedtext.algorithms.dp_ft and fedtext.training."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedtext.algorithms import dp_ft as algorithm
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import PrivateSamples, label_codes
from fedtext.federation.query import Query
from fedtext.federation.units import Population
from fedtext.models.generator import TrainableGenerator
from fedtext.params.dp_ft import DpFt
from fedtext.params.privacy import Privacy
from fedtext.pipelines.clients.nodes import units_of
from fedtext.pipelines.pairs.nodes import dialogue_of
from fedtext.privacy.budget_guard import current
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.training.dp_losses import preferences
from fedtext.training.dp_sgd import expected_exchanges, trained_unprotected, trained_weights
from fedtext.training.lora import (
    Trained,
    adapter_weights,
    in_one,
    trainable_model,
    trained_digest,
    trained_of_weights,
)
from fedtext.training.preference_pairs import pair_rows, validate_pair_width

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Arrays = dict[str, np.ndarray]
Stage = algorithm.Stage


def start_weights(downstream: TrainableGenerator, dp_ft: DpFt) -> Arrays:
    """Return the weights that are trained as a vector, after checking that the model reads a prompt with its answer."""
    validate_pair_width(downstream, dp_ft.tokens, f"{algorithm.NAME}.tokens")
    return {"weights": adapter_weights(_adapted(downstream, dp_ft, "sft"))}


def open_dp_ft_ledger(population: Population, start: Arrays, dp_ft: DpFt, privacy: Privacy) -> Ledger:
    """Open an empty ledger of two halves, after checking that each training fits its half's budget."""
    return algorithm.planned_ledger(population.training, dp_ft, privacy, dim=start["weights"].size)


def tokenise_pairs(private_train: pd.DataFrame, downstream: TrainableGenerator, source: str, dp_ft: DpFt) -> Arrays:
    """Tokenise the clients' pairs: arrays `features` (two rows a pair), `client`, `record`, `label` (none)."""
    return {
        "features": pair_rows(downstream, private_train, dp_ft.tokens, dialogue_of(source, chat=dp_ft.chat)),
        **units_of(private_train),
        "label": label_codes([None] * len(private_train)),
    }


def tune_privately(
    private_rows: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    downstream: TrainableGenerator,
    start: Arrays,
    population: Population,
    dp_ft: DpFt,
) -> tuple[Arrays, Ledger]:
    """Release the adapter, or all weights, after DP-SGD on one half's chosen answers, charged to that half's budget.

    Returns:
        The weights that were trained, and the ledger.
    """
    samples = algorithm.of_first_rows(_halved(private_rows, private_enrolment, ledger))
    model = _adapted(downstream, dp_ft, "sft")
    query = _query("sft", ledger, population, start["weights"].size, dp_ft)
    stream_key = _stream_key(dp_ft, downstream)
    return trained_weights(
        query, model, start["weights"], samples, dp_ft.sft, ledger, private_noise_key, settings=stream_key
    )


def write_tuned(downstream: TrainableGenerator, tuned: Arrays, dp_ft: DpFt) -> Trained:
    """Write the tuned weights as a model reads it."""
    return trained_of_weights(downstream, dp_ft.lora, tuned["weights"], seed=_seed(dp_ft, "sft"))


def prefer_privately(
    private_rows: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    downstream: TrainableGenerator,
    tuned: Path,
    population: Population,
    dp_ft: DpFt,
) -> tuple[Arrays, Ledger]:
    """Release a fresh adapter on the tuned model, its reference, after DPO on the other half."""
    samples = _halved(private_rows, private_enrolment, ledger)
    model = _adapted(downstream.with_adapter(tuned), dp_ft, "dpo")
    weights, loss = adapter_weights(model), preferences(model, dp_ft.beta)
    query = _query("dpo", ledger, population, weights.size, dp_ft)
    stream_key = _stream_key(dp_ft, downstream, trained_digest(tuned))
    return trained_weights(
        query, model, weights, samples, dp_ft.dpo, ledger, private_noise_key, loss, settings=stream_key
    )


def write_policy(downstream: TrainableGenerator, tuned: Path, preferred: Arrays, dp_ft: DpFt) -> Trained:
    """Write the policy: both updates as one adapter, or all weights."""
    second = trained_of_weights(
        downstream.with_adapter(tuned), dp_ft.lora, preferred["weights"], seed=_seed(dp_ft, "dpo")
    )
    return in_one(tuned, second)


def tune_unprotected(
    private_rows: Arrays,
    private_enrolment: Arrays,
    ledger: Ledger,
    downstream: TrainableGenerator,
    start: Arrays,
    dp_ft: DpFt,
) -> tuple[Arrays, Ledger]:
    """Tune on all chosen answers without clipping and noise, which the ledger records as unaccounted."""
    charged = _unaccounted("sft", ledger)
    samples = algorithm.of_first_rows(_halved(private_rows, private_enrolment, ledger))
    model, seed = _adapted(downstream, dp_ft, "sft"), _seed(dp_ft, "unprotected sft")
    return trained_unprotected(model, start["weights"], samples, dp_ft.sft, seed=seed), charged


def prefer_unprotected(
    private_rows: Arrays,
    private_enrolment: Arrays,
    ledger: Ledger,
    downstream: TrainableGenerator,
    tuned: Path,
    dp_ft: DpFt,
) -> tuple[Arrays, Ledger]:
    """Prefer on all pairs without clipping and noise, which the ledger records as unaccounted."""
    charged = _unaccounted("dpo", ledger)
    samples = _halved(private_rows, private_enrolment, ledger)
    model, seed = _adapted(downstream.with_adapter(tuned), dp_ft, "dpo"), _seed(dp_ft, "unprotected dpo")
    loss = preferences(model, dp_ft.beta)
    return trained_unprotected(model, adapter_weights(model), samples, dp_ft.dpo, loss, seed=seed), charged


def count_exchanged(start: Arrays, population: Population, dp_ft: DpFt) -> Exchange:
    """Count what a sampled unit exchanges in a step of the costlier training: the adapter, its gradient."""
    dim, size = start["weights"].size, algorithm.half_size(population.training)
    often = [expected_exchanges(algorithm.training_of(dp_ft, stage), size) for stage in algorithm.stages(dp_ft)]
    return Exchange(variant=dp_ft.form, down_floats=dim, up_floats=dim, exchanges=max(often, default=0.0))


def _halved(private_rows: Arrays, private_enrolment: Arrays, ledger: Ledger) -> PrivateSamples:
    samples = PrivateSamples.protected_by(ledger, private_rows, private_enrolment)
    return algorithm.in_halves(samples)


def _query(stage: Stage, ledger: Ledger, population: Population, dim: int, dp_ft: DpFt) -> Query:
    return algorithm.planned_query(stage, dp_ft, ledger.declaration, population.training, dim=dim)


def _stream_key(dp_ft: DpFt, downstream: TrainableGenerator, *tuned: str) -> str:
    """Return what names a training's random streams: all parameters, the model, and the tuned adapter."""
    return " ".join((dp_ft.model_dump_json(), downstream.source, *tuned))


def _adapted(downstream: TrainableGenerator, dp_ft: DpFt, stage: Stage) -> "PreTrainedModel":
    return trainable_model(downstream, dp_ft.lora, seed=_seed(dp_ft, stage))


def _seed(dp_ft: DpFt, name: str) -> int:
    return derived_seed(dp_ft.seed, "adapter", name)


def _unaccounted(stage: Stage, ledger: Ledger) -> Ledger:
    name, reason = f"{algorithm.NAME}.{stage}", "the model was trained on the private pairs themselves"
    current().unaccounted(name, reason, ledger)
    return ledger.unaccounted_read(name, f"{reason}, by no mechanism")
