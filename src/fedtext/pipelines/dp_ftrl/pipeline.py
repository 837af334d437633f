"""dp_ftrl: T rounds in which clients train in turn; the releases are weighted sums of rounds, charged once."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.dp_ftrl import nodes
from fedtext.pipelines.outputs.pipeline import last_ledger
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, unroll

FTRL = Namespace("dp_ftrl")
PARAMS, PRIVACY = "params:dp_ftrl", "params:privacy"
START, FACTORISATION = "dp_ftrl_start", "dp_ftrl_factorisation"
CARRIED = ("server", "state", "ledger", "private_open_sums")


def create_pipeline(settings: Settings) -> Pipeline:
    """Create DP-FTRL for the rounds of the active parameters."""
    rounds = settings.rounds(FTRL.name)
    return Pipeline([_setup(), _rounds(rounds), _final(rounds)])


def _setup() -> Pipeline:
    return Pipeline(
        [
            FTRL.node(nodes.plan_factorisation, PARAMS, FACTORISATION, name="plan_factorisation"),
            FTRL.node(
                nodes.open_dp_ftrl_ledger,
                ["population", START, FACTORISATION, PARAMS, PRIVACY],
                FTRL("ledger_open"),
                name="open_dp_ftrl_ledger",
                tags=Tag.BUDGET,
            ),
            FTRL.node(nodes.start_server, "on_device", START, name="start_server"),
            FTRL.node(nodes.start_open_sums, START, FTRL("private_open_sums"), name="start_open_sums"),
            FTRL.node(nodes.start_state, None, FTRL("state"), name="start_state"),
        ]
    )


def _rounds(rounds: int) -> Pipeline:
    before = {name: f"{name}_before" for name in CARRIED}
    private = ["private_token_rows", "private_enrolment", "private_noise_key", before["private_open_sums"]]
    one_round = Pipeline(
        [
            node(
                nodes.release_rows,
                [*private, before["ledger"], "on_device", before["server"], before["state"], FACTORISATION,
                 PARAMS],
                ["rows", "private_open_sums", "ledger"],
                name="release_rows",
                tags=Tag.RELEASE,
            ),
            node(
                nodes.apply_rows,
                [START, before["server"], "rows", "ledger", before["state"], FACTORISATION, PARAMS],
                ["server", "state"],
                name="apply_rows",
            ),
        ]
    )  # fmt: skip
    first = {
        "server": START,
        "state": FTRL("state"),
        "ledger": FTRL("ledger_open"),
        "private_open_sums": FTRL("private_open_sums"),
    }
    return unroll(
        one_round,
        rounds=rounds,
        namespace=FTRL.name,
        carried={before[name]: name for name in CARRIED},
        first={before[name]: origin for name, origin in first.items()},
    )


def _final(rounds: int) -> Pipeline:
    made = ALGORITHM.outputs
    return Pipeline(
        [
            FTRL.node(nodes.write_model, ["on_device", FTRL.round(rounds, "server")], made.model, name="write_model"),
            FTRL.node(
                nodes.report_rounds,
                [FACTORISATION, PARAMS, *FTRL.rounds(rounds, "state")],
                made.rounds,
                name="report_rounds",
            ),
            FTRL.node(
                nodes.count_communication, [START, FACTORISATION, PARAMS], made.exchange, name="count_communication"
            ),
            last_ledger(FTRL.name, FTRL.round(rounds, "ledger")),
        ]
    )


ALGORITHM = Algorithm(
    name=FTRL.name,
    title="DP-FTRL",
    paper="Kairouz et al., ICML 2021",
    makes=OutputType.MODEL,
    pipeline=create_pipeline,
    client_tokens=True,
)
