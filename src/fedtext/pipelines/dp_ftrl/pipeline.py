"""dp_ftrl: T rounds in which clients train in turn; what leaves are weighted sums of rounds, paid for once."""

from functools import partial

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.dp_ftrl import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import active_rounds
from fedtext.wiring.unrolling import round_dataset, unroll

NAME = "dp_ftrl"
PARAMS, PRIVACY = "params:dp_ftrl", "params:privacy"
CARRIED = ("server", "state", "ledger", "private_open_sums")
ftrl_node = partial(node, namespace=NAME)


def create_pipeline() -> Pipeline:
    """DP-FTRL for the rounds of the active parameters."""
    rounds = active_rounds(NAME)
    return Pipeline([_setup(), _rounds(rounds), _final(rounds)])


def _setup() -> Pipeline:
    return Pipeline(
        [
            ftrl_node(nodes.plan_factorisation, PARAMS, "dp_ftrl_factorisation", name="plan_factorisation"),
            ftrl_node(
                nodes.open_dp_ftrl_ledger,
                ["population", "dp_ftrl_factorisation", PARAMS, PRIVACY],
                "dp_ftrl.ledger_open",
                name="open_dp_ftrl_ledger",
                tags=Tag.BUDGET,
            ),
            ftrl_node(nodes.start_server, "on_device", "dp_ftrl_start", name="start_server"),
            ftrl_node(nodes.start_open_sums, "dp_ftrl_start", "dp_ftrl.private_open_sums", name="start_open_sums"),
            ftrl_node(nodes.start_state, None, "dp_ftrl.state", name="start_state"),
        ]
    )


def _rounds(rounds: int) -> Pipeline:
    before = {name: f"{name}_before" for name in CARRIED}
    private = ["private_token_rows", "private_enrolment", "private_noise_key", before["private_open_sums"]]
    one_round = Pipeline(
        [
            node(
                nodes.release_rows,
                [*private, before["ledger"], "on_device", before["server"], before["state"], "dp_ftrl_factorisation",
                 PARAMS],
                ["rows", "private_open_sums", "ledger"],
                name="release_rows",
                tags=Tag.RELEASE,
            ),
            node(
                nodes.apply_rows,
                ["dp_ftrl_start", before["server"], "rows", "ledger", before["state"], "dp_ftrl_factorisation", PARAMS],
                ["server", "state"],
                name="apply_rows",
            ),
        ]
    )  # fmt: skip
    first = {
        "server": "dp_ftrl_start",
        "state": "dp_ftrl.state",
        "ledger": "dp_ftrl.ledger_open",
        "private_open_sums": "dp_ftrl.private_open_sums",
    }
    return unroll(
        one_round,
        rounds=rounds,
        namespace=NAME,
        carried={before[name]: name for name in CARRIED},
        first={before[name]: origin for name, origin in first.items()},
    )


def _final(rounds: int) -> Pipeline:
    server, ledger = (round_dataset(NAME, rounds, name) for name in ("server", "ledger"))
    states = [round_dataset(NAME, t, "state") for t in range(1, rounds + 1)]
    return Pipeline(
        [
            ftrl_node(nodes.write_model, ["on_device", server], "dp_ftrl_model", name="write_model"),
            ftrl_node(
                nodes.report_rounds,
                ["dp_ftrl_factorisation", PARAMS, *states],
                "dp_ftrl_rounds",
                name="report_rounds",
            ),
            ftrl_node(
                nodes.count_communication,
                ["dp_ftrl_start", "dp_ftrl_factorisation", PARAMS],
                "dp_ftrl_cost",
                name="count_communication",
            ),
            ftrl_node(
                nodes.write_privacy_report,
                [ledger, "release_history"],
                ["dp_ftrl_privacy_report", "dp_ftrl_privacy_report_text"],
                name="write_privacy_report",
            ),
        ]
    )
