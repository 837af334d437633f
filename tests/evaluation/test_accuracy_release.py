"""The release of accuracies: one sum of test clients' right predictions, whose noise is of the models that made them."""

from __future__ import annotations

import numpy as np

from fedtext.evaluation.accuracy_release import AccuracyContribution, accuracy_query, release_accuracies
from fedtext.evaluation.measures.measure import Counts
from fedtext.evaluation.private_evaluation import evaluation_ledger
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

CLIP, TEXTS = 12.0, 60
NAMES = ("eps0", "public_control", "synthetic")


def released(nats: float) -> np.ndarray:
    """The noised sum, where each condition is right as often as ever, and the synthetic texts' model is as sure."""
    privacy = conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-3, "noise_seed": 1})
    query = accuracy_query("evaluation.popri.accuracy", len(NAMES), CLIP)
    ledger = evaluation_ledger(privacy, conf_base(Evaluation), 30, [query])
    tokens = np.full(TEXTS, 40)
    counted = {name: Counts(tokens // (2 + place), tokens) for place, name in enumerate(NAMES)}
    scored = {name: {"nats": np.full(TEXTS, nats if name == "synthetic" else 90.0)} for name in NAMES}
    units, contribution = (np.arange(TEXTS) // 2, None), AccuracyContribution(0.3, CLIP, 0.05)
    key = new_noise_key(1)
    return release_accuracies(counted, contribution, query.name, units, ledger, key, scored=scored)[0]


def test_models_that_are_right_as_often_share_no_noise() -> None:
    """Equal bytes would say for certain that another set of texts makes no difference to any client's own."""
    assert released(80.0).tobytes() == released(80.0).tobytes()
    assert not np.isclose(released(80.0), released(80.5)).any()
