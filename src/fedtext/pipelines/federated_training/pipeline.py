"""dp_fedavg and dp_ftrl: T rounds in which clients train the on-device model and the server adds what is released.

They differ in the noise. That of DP-FedAvg is independent in every round, and each round is charged; that of DP-FTRL is
correlated across rounds, and the first round is charged for all (docs/decisions/0006).
"""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.federated_training import nodes
from fedtext.pipelines.outputs.pipeline import last_ledger
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Outputs, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, unroll

FEDAVG, FTRL = Namespace("dp_fedavg"), Namespace("dp_ftrl")
PRIVACY = "params:privacy"
CARRIED = ("server", "state", "ledger", "private_open_sums")


def create_pipeline(own: Namespace, planning: Sequence[Node], settings: Settings) -> Pipeline:
    """Create the algorithm of this name for the rounds of the active parameters.

    Args:
        own: The algorithm's name.
        planning: The nodes that make `training`, the algorithm with its parameters.
        settings: They decide the number of rounds.
    """
    rounds = settings.rounds(own.name)
    return Pipeline([*planning, *_setup(own), _rounds(own, rounds), *_final(own, rounds)])


def training(own: Namespace) -> str:
    """Return the data set of the algorithm with its parameters."""
    return f"{own.name}_training"


def start(own: Namespace) -> str:
    """Return the data set of the server before the first round."""
    return f"{own.name}_start"


def dp_fedavg(settings: Settings) -> Pipeline:
    """Create DP-FedAvg."""
    plan = FEDAVG.node(nodes.plan_dp_fedavg, "params:dp_fedavg", training(FEDAVG), name="plan_training")
    return create_pipeline(FEDAVG, [plan], settings)


def dp_ftrl(settings: Settings) -> Pipeline:
    """Create DP-FTRL."""
    parameters, factorisation = "params:dp_ftrl", "dp_ftrl_factorisation"
    planning = [
        FTRL.node(nodes.plan_factorisation, parameters, factorisation, name="plan_factorisation"),
        FTRL.node(nodes.plan_dp_ftrl, [parameters, factorisation], training(FTRL), name="plan_training"),
    ]
    return create_pipeline(FTRL, planning, settings)


def _setup(own: Namespace) -> list[Node]:
    return [
        own.node(
            nodes.open_ledger,
            ["population", start(own), training(own), PRIVACY],
            own("ledger_open"),
            name=f"open_{own.name}_ledger",
            tags=Tag.BUDGET,
        ),
        own.node(nodes.start_server, ["on_device", training(own)], start(own), name="start_server", tags=Tag.START),
        own.node(nodes.start_open_sums, start(own), own("private_open_sums"), name="start_open_sums"),
        own.node(nodes.start_state, None, own("state"), name="start_state"),
    ]


def _rounds(own: Namespace, rounds: int) -> Pipeline:
    before = {name: f"{name}_before" for name in CARRIED}
    private = ["private_token_rows", "private_enrolment", "private_noise_key", before["private_open_sums"]]
    one_round = Pipeline(
        [
            node(
                nodes.release_rows,
                [*private, before["ledger"], "on_device", before["server"], before["state"], training(own)],
                ["rows", "private_open_sums", "ledger"],
                name="release_rows",
                tags=Tag.RELEASE,
            ),
            node(
                nodes.apply_rows,
                [start(own), before["server"], "rows", "ledger", before["state"], training(own)],
                ["server", "state"],
                name="apply_rows",
            ),
        ]
    )
    first = {
        "server": start(own),
        "state": own("state"),
        "ledger": own("ledger_open"),
        "private_open_sums": own("private_open_sums"),
    }
    return unroll(
        one_round,
        rounds=rounds,
        namespace=own.name,
        carried={before[name]: name for name in CARRIED},
        first={before[name]: origin for name, origin in first.items()},
    )


def _final(own: Namespace, rounds: int) -> list[Node]:
    made = Outputs(own.name)
    return [
        own.node(nodes.write_model, ["on_device", own.round(rounds, "server")], made.model, name="write_model"),
        own.node(nodes.report_rounds, [training(own), *own.rounds(rounds, "state")], made.rounds, name="report_rounds"),
        own.node(
            nodes.count_communication,
            [start(own), "population", training(own), PRIVACY],
            made.exchange,
            name="count_communication",
        ),
        last_ledger(own.name, own.round(rounds, "ledger")),
    ]


ALGORITHMS = (
    Algorithm(
        name=FEDAVG.name,
        title="DP-FedAvg",
        paper="McMahan et al., ICLR 2018",
        makes=OutputType.MODEL,
        pipeline=dp_fedavg,
        client_tokens=True,
    ),
    Algorithm(
        name=FTRL.name,
        title="DP-FTRL",
        paper="Kairouz et al., ICML 2021",
        makes=OutputType.MODEL,
        pipeline=dp_ftrl,
        client_tokens=True,
    ),
)
