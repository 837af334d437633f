"""dp_fedavg: T rounds in which clients train the on-device model and the server adds their noised mean update."""

from functools import partial

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.dp_fedavg import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import active_rounds
from fedtext.wiring.unrolling import round_dataset, unroll

NAME = "dp_fedavg"
PARAMS, PRIVACY = "params:dp_fedavg", "params:privacy"
fedavg_node = partial(node, namespace=NAME)


def create_pipeline() -> Pipeline:
    """DP-FedAvg for the rounds of the active parameters."""
    rounds = active_rounds(NAME)
    return Pipeline([_setup(), _rounds(rounds), _final(rounds)])


def _setup() -> Pipeline:
    return Pipeline(
        [
            fedavg_node(
                nodes.open_dp_fedavg_ledger,
                ["population", PARAMS, PRIVACY],
                "dp_fedavg.ledger_open",
                name="open_dp_fedavg_ledger",
                tags=Tag.BUDGET,
            ),
            fedavg_node(nodes.start_server, ["on_device", PARAMS], "dp_fedavg.server", name="start_server"),
            fedavg_node(nodes.start_state, None, "dp_fedavg.state", name="start_state"),
        ]
    )


def _rounds(rounds: int) -> Pipeline:
    private = ["private_token_rows", "private_enrolment", "private_noise_key", "ledger_before"]
    one_round = Pipeline(
        [
            node(
                nodes.release_update,
                [*private, "on_device", "server_before", "state_before", PARAMS],
                ["update", "ledger"],
                name="release_update",
                tags=Tag.RELEASE,
            ),
            node(
                nodes.apply_update,
                ["server_before", "update", "ledger", "state_before", PARAMS],
                ["server", "state"],
                name="apply_update",
            ),
        ]
    )
    return unroll(
        one_round,
        rounds=rounds,
        namespace=NAME,
        carried={"server_before": "server", "state_before": "state", "ledger_before": "ledger"},
        first={
            "server_before": "dp_fedavg.server",
            "state_before": "dp_fedavg.state",
            "ledger_before": "dp_fedavg.ledger_open",
        },
    )


def _final(rounds: int) -> Pipeline:
    server, ledger = (round_dataset(NAME, rounds, name) for name in ("server", "ledger"))
    states = [round_dataset(NAME, t, "state") for t in range(1, rounds + 1)]
    return Pipeline(
        [
            fedavg_node(nodes.write_model, ["on_device", server], "dp_fedavg_model", name="write_model"),
            fedavg_node(nodes.report_rounds, states, "dp_fedavg_rounds", name="report_rounds"),
            fedavg_node(
                nodes.count_communication,
                ["dp_fedavg.server", "population", PARAMS, PRIVACY],
                "dp_fedavg_cost",
                name="count_communication",
            ),
            fedavg_node(
                nodes.write_privacy_report,
                [ledger, "release_history"],
                ["dp_fedavg_privacy_report", "dp_fedavg_privacy_report_text"],
                name="write_privacy_report",
            ),
        ]
    )
