"""The server's step, against torch's optimizers where they agree and against the paper's formulas where not."""

from __future__ import annotations

import numpy as np
import torch

from fedtext.params.federated import ServerOptimizer
from fedtext.training.federated_averaging import new_server, server_step
from tests.parameters import conf_base

WEIGHTS = np.array([1.0, -2.0, 0.5], dtype=np.float32)
UPDATES = [np.array([0.1, 0.0, -0.3]), np.array([0.2, -0.1, 0.0]), np.array([-0.1, 0.4, 0.2])]


def after(params: ServerOptimizer) -> np.ndarray:
    server = new_server(WEIGHTS, params)
    for update in UPDATES:
        server = server_step(server, update, params)
    return server["weights"]


def test_averaging_adds_the_mean_updates() -> None:
    server = new_server(WEIGHTS, conf_base(ServerOptimizer))
    assert set(server) == {"weights"}
    np.testing.assert_allclose(after(conf_base(ServerOptimizer)), WEIGHTS + sum(UPDATES), rtol=1e-6)


def test_momentum_is_torch_s() -> None:
    weights = torch.tensor(WEIGHTS, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=0.5, momentum=0.8)
    for update in UPDATES:
        weights.grad = torch.tensor(-update, dtype=torch.float32)
        optimizer.step()
    found = after(conf_base(ServerOptimizer, method="momentum", learning_rate=0.5, decay=0.8))
    np.testing.assert_allclose(found, weights.detach().numpy(), rtol=1e-5)


def test_adam_is_algorithm_2_of_adaptive_federated_optimization() -> None:
    params = ServerOptimizer(method="adam", learning_rate=0.3, decay=0.9, square_decay=0.95, smallest_root=0.01)
    m, v, w = np.zeros(3), np.zeros(3), WEIGHTS.astype(float)
    for update in UPDATES:
        m, v = 0.9 * m + 0.1 * update, 0.95 * v + 0.05 * update**2
        w = w + 0.3 * m / (np.sqrt(v) + 0.01)
    np.testing.assert_allclose(after(params), w, rtol=1e-5)


def test_a_step_leaves_the_server_before_it_as_it_was() -> None:
    params = conf_base(ServerOptimizer, method="adam")
    server = new_server(WEIGHTS, params)
    kept = {name: array.copy() for name, array in server.items()}
    server_step(server, UPDATES[0], params)
    assert all(np.array_equal(server[name], kept[name]) for name in kept)
