"""DP-FTRL's nodes: thin, pure calls into fedtext.algorithms.dp_ftrl and fedtext.training."""

from typing import Any

import numpy as np

from fedtext.algorithms import dp_ftrl as algorithm
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.models.language_model import LanguageModel
from fedtext.params.federated import DpFtrl
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.training.federated_averaging import flat_weights, load_weights

Arrays = dict[str, np.ndarray]
State = dict[str, Any]


def plan_factorisation(dp_ftrl: DpFtrl) -> Arrays:
    """Compute how noise is correlated across the rounds: public, and saved, so that it is computed once."""
    found = algorithm.chosen_factorisation(dp_ftrl)
    return {"weights": found.weights, "weight_step": np.asarray(found.weight_step)}


def open_dp_ftrl_ledger(
    population: Population, server: Arrays, factorisation: Arrays, dp_ftrl: DpFtrl, privacy: Privacy
) -> Ledger:
    """Open an empty ledger, after checking that the whole run fits the declared budget."""
    weighed, dim = algorithm.restored(dp_ftrl, factorisation), server["weights"].size
    return algorithm.planned_ledger(population.training, dp_ftrl, privacy, weighed, dim=dim)


def start_server(on_device: LanguageModel) -> Arrays:
    """Return the server before the first round: the public on-device model's weights, and nothing released."""
    weights = flat_weights(on_device.load()[0])
    return {"weights": weights, "released": np.empty((0, weights.size), dtype=np.float32)}


def start_open_sums(server: Arrays) -> np.ndarray:
    """Return the open sums before the first round: none has begun."""
    return np.empty((0, server["weights"].size), dtype=np.int64)


def start_state() -> State:
    """Return the state before the first round."""
    return {"round": 0}


def release_rows(
    private_token_rows: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    private_open_sums: np.ndarray,
    ledger: Ledger,
    on_device: LanguageModel,
    server: Arrays,
    state: State,
    factorisation: Arrays,
    dp_ftrl: DpFtrl,
) -> tuple[np.ndarray, np.ndarray, Ledger]:
    """Train on the round's clients; release the weighted sums that are complete, and keep the others private."""
    samples = PrivateSamples.protected_by(ledger, private_token_rows, private_enrolment)
    model, weighed = on_device.load()[0], algorithm.restored(dp_ftrl, factorisation)
    done = algorithm.released_rows(
        samples, model, server, private_open_sums, dp_ftrl, weighed, ledger, private_noise_key, state["round"] + 1
    )
    return done.released, done.open_sums, done.ledger


def apply_rows(
    start: Arrays,
    server: Arrays,
    rows: np.ndarray,
    ledger: Ledger,
    state: State,
    factorisation: Arrays,
    dp_ftrl: DpFtrl,
) -> tuple[Arrays, State]:
    """Compute the model after this round from all released rows, and the next round's state."""
    weighed, t = algorithm.restored(dp_ftrl, factorisation), state["round"] + 1
    moved = algorithm.next_server(start["weights"], server, rows, dp_ftrl, weighed, ledger.population, t)
    return moved, algorithm.next_state(start["weights"], moved, dp_ftrl, weighed, ledger, t)


def write_model(on_device: LanguageModel, server: Arrays) -> tuple[Any, ...]:
    """Write the on-device model with the last round's weights, and its tokenizer."""
    model, tokenizer = on_device.load()
    return load_weights(model, server["weights"]), tokenizer


def report_rounds(factorisation: Arrays, dp_ftrl: DpFtrl, *states: State) -> dict[str, Any]:
    """Report released figures by round, and the noise that other correlations would have left in the model."""
    norms = {f"{name}s": [state[name] for state in states] for name in ("update_norm", "noise_norm")}
    return {**norms, "errors": algorithm.noise_comparison(dp_ftrl, algorithm.restored(dp_ftrl, factorisation))}


def count_communication(server: Arrays, factorisation: Arrays, dp_ftrl: DpFtrl) -> Exchange:
    """Count what a client exchanges in a round of its own: all weights down, its update up (the row of Table 2)."""
    dim, turns = server["weights"].size, algorithm.restored(dp_ftrl, factorisation).participations
    return Exchange(down_floats=dim, up_floats=dim, exchanges=turns)
