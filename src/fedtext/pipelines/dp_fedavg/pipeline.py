"""dp_fedavg: T rounds in which clients train the on-device model and the server adds their noisy mean update."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.dp_fedavg import nodes
from fedtext.pipelines.outputs.pipeline import last_ledger
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, unroll

FEDAVG = Namespace("dp_fedavg")
PARAMS, PRIVACY = "params:dp_fedavg", "params:privacy"


def create_pipeline(settings: Settings) -> Pipeline:
    """Create DP-FedAvg for the rounds of the active parameters."""
    rounds = settings.rounds(FEDAVG.name)
    return Pipeline([_setup(), _rounds(rounds), _final(rounds)])


def _setup() -> Pipeline:
    return Pipeline(
        [
            FEDAVG.node(
                nodes.open_dp_fedavg_ledger,
                ["population", FEDAVG("server"), PARAMS, PRIVACY],
                FEDAVG("ledger_open"),
                name="open_dp_fedavg_ledger",
                tags=Tag.BUDGET,
            ),
            FEDAVG.node(nodes.start_server, ["on_device", PARAMS], FEDAVG("server"), name="start_server"),
            FEDAVG.node(nodes.start_state, None, FEDAVG("state"), name="start_state"),
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
        namespace=FEDAVG.name,
        carried={"server_before": "server", "state_before": "state", "ledger_before": "ledger"},
        first={
            "server_before": FEDAVG("server"),
            "state_before": FEDAVG("state"),
            "ledger_before": FEDAVG("ledger_open"),
        },
    )


def _final(rounds: int) -> Pipeline:
    made = ALGORITHM.outputs
    return Pipeline(
        [
            FEDAVG.node(
                nodes.write_model, ["on_device", FEDAVG.round(rounds, "server")], made.model, name="write_model"
            ),
            FEDAVG.node(nodes.report_rounds, FEDAVG.rounds(rounds, "state"), made.rounds, name="report_rounds"),
            FEDAVG.node(
                nodes.count_communication,
                [FEDAVG("server"), "population", PARAMS, PRIVACY],
                made.exchange,
                name="count_communication",
            ),
            last_ledger(FEDAVG.name, FEDAVG.round(rounds, "ledger")),
        ]
    )


ALGORITHM = Algorithm(
    name=FEDAVG.name,
    title="DP-FedAvg",
    paper="McMahan et al., ICLR 2018",
    makes=OutputType.MODEL,
    pipeline=create_pipeline,
    client_tokens=True,
)
