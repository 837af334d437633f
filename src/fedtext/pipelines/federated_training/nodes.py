"""Nodes of DP-FedAvg and DP-FTRL: thin, pure calls into the algorithm and fedtext.training."""

from typing import Any

import numpy as np

from fedtext.algorithms.dp_fedavg import FederatedAveraging
from fedtext.algorithms.dp_ftrl import FollowTheRegularizedLeader, chosen_factorisation
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.models.language_model import LanguageModel
from fedtext.params.federated import DpFedavg, DpFtrl
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.training.federated_averaging import flat_weights, load_weights
from fedtext.training.federated_training import FederatedTraining

Arrays = dict[str, np.ndarray]
State = dict[str, Any]


def plan_dp_fedavg(dp_fedavg: DpFedavg) -> FederatedTraining:
    """Return DP-FedAvg with its parameters: the noise of a round is independent of that of others."""
    return FederatedAveraging(dp_fedavg)


def plan_factorisation(dp_ftrl: DpFtrl) -> Arrays:
    """Compute how noise is correlated across the rounds: public, and saved, so that it is computed once."""
    found = chosen_factorisation(dp_ftrl)
    return {"weights": found.weights, "weight_step": np.asarray(found.weight_step)}


def plan_dp_ftrl(dp_ftrl: DpFtrl, factorisation: Arrays) -> FederatedTraining:
    """Return DP-FTRL with its parameters and the saved correlation of its noise."""
    return FollowTheRegularizedLeader.restored(dp_ftrl, factorisation)


def open_ledger(population: Population, start: Arrays, training: FederatedTraining, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that everything the run plans to release fits the declared budget."""
    return training.planned_ledger(population.training, privacy, dim=start["weights"].size)


def start_server(on_device: LanguageModel, training: FederatedTraining) -> Arrays:
    """Return the server before the first round: the public on-device model's weights, and nothing released."""
    return dict(training.first_server(flat_weights(on_device.load()[0])))


def start_open_sums(start: Arrays) -> np.ndarray:
    """Return the open sums before the first round: none has begun."""
    return np.empty((0, start["weights"].size), dtype=np.int64)


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
    training: FederatedTraining,
) -> tuple[np.ndarray, np.ndarray, Ledger]:
    """Train on the round's clients; release the noisy sums that are complete, and keep the others private."""
    samples, model = PrivateSamples.protected_by(ledger, private_token_rows, private_enrolment), on_device.load()[0]
    done = training.released_rows(
        samples, model, server, private_open_sums, ledger, private_noise_key, state["round"] + 1
    )
    return done.released, done.open_sums, done.ledger


def apply_rows(
    start: Arrays, server: Arrays, rows: np.ndarray, ledger: Ledger, state: State, training: FederatedTraining
) -> tuple[Arrays, State]:
    """Compute the model after this round from what is released, and the next round's state."""
    round_number = state["round"] + 1
    moved = training.next_server(start, server, rows, ledger, round_number)
    norms = training.norms(start, moved, rows, ledger, round_number)
    return dict(moved), {"round": round_number, **norms}


def write_model(on_device: LanguageModel, server: Arrays) -> tuple[Any, ...]:
    """Write the on-device model with the last round's weights, and its tokenizer."""
    model, tokenizer = on_device.load()
    return load_weights(model, server["weights"]), tokenizer


def report_rounds(training: FederatedTraining, *states: State) -> dict[str, Any]:
    """Report released figures by round, and the noise that other correlations would have left in the model."""
    norms = {f"{name}s": [state[name] for state in states] for name in ("update_norm", "noise_norm")}
    errors = training.noise_errors()
    return {**norms, "errors": errors} if errors else norms


def count_communication(
    start: Arrays, population: Population, training: FederatedTraining, privacy: Privacy
) -> Exchange:
    """Count what a client exchanges each time it takes part: all weights down, its update up (the row of Table 2)."""
    dim, turns = start["weights"].size, training.participations(population.training, privacy)
    return Exchange(down_floats=dim, up_floats=dim, exchanges=turns)
