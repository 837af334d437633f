"""DP-FedAvg's nodes: thin, pure calls into fedtext.algorithms.dp_fedavg and fedtext.training."""

from typing import Any

import numpy as np

from fedtext.algorithms import dp_fedavg as algorithm
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.models.language_model import LanguageModel
from fedtext.params.federated import DpFedavg
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import expected_exchanges
from fedtext.training.federated_averaging import Server, flat_weights, load_weights, new_server, server_step

State = dict[str, Any]


def open_dp_fedavg_ledger(population: Population, server: Server, dp_fedavg: DpFedavg, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that everything the run plans to release fits the declared budget."""
    return algorithm.planned_ledger(population.training, dp_fedavg, privacy, dim=server["weights"].size)


def start_server(on_device: LanguageModel, dp_fedavg: DpFedavg) -> Server:
    """Return the server before the first round: the public on-device model's weights."""
    return new_server(flat_weights(on_device.load()[0]), dp_fedavg.server)


def start_state() -> State:
    """Return the state before the first round."""
    return {"round": 0}


def release_update(
    private_token_rows: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    on_device: LanguageModel,
    server: Server,
    state: State,
    dp_fedavg: DpFedavg,
) -> tuple[np.ndarray, Ledger]:
    """Train on the sampled clients; release the noisy mean of their clipped updates, charged to the ledger."""
    samples = PrivateSamples.protected_by(ledger, private_token_rows, private_enrolment)
    model, _ = on_device.load()
    return algorithm.released_update(
        samples, model, server["weights"], dp_fedavg, ledger, private_noise_key, state["round"] + 1
    )


def apply_update(
    server: Server, update: np.ndarray, ledger: Ledger, state: State, dp_fedavg: DpFedavg
) -> tuple[Server, State]:
    """Apply the released update to the server's weights, and return the next round's state."""
    return server_step(server, update, dp_fedavg.server), algorithm.next_state(state, update, ledger)


def write_model(on_device: LanguageModel, server: Server) -> tuple[Any, ...]:
    """Write the on-device model with the last round's weights, and its tokenizer."""
    model, tokenizer = on_device.load()
    return load_weights(model, server["weights"]), tokenizer


def report_rounds(*states: State) -> dict[str, list[float]]:
    """Report released figures by round: the norm of the mean update, and the norm that noise alone would have."""
    return {f"{name}s": [state[name] for state in states] for name in ("update_norm", "noise_norm")}


def count_communication(server: Server, population: Population, dp_fedavg: DpFedavg, privacy: Privacy) -> Exchange:
    """Count what one sampled client exchanges: all weights down, its update up (the row of Table 2)."""
    dim, asked = server["weights"].size, expected_exchanges(privacy, population.training, dp_fedavg.rounds)
    return Exchange(down_floats=dim, up_floats=dim, exchanges=asked)
