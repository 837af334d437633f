"""flexible: strong silos train, all silos count their codes, weak silos vote, and texts are sampled by the votes.

There are three releases of private data: the strong silos' training, the profile of all, the votes of the weak.
"""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.flexible import nodes
from fedtext.pipelines.outputs.pipeline import last_ledger
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

FLEXIBLE = Namespace("flexible")
PARAMETERS, PRIVACY, CHUNKING, SILOS = "params:flexible", "params:privacy", "params:chunking", "params:silos"
CORPUS, PARTITION = "params:corpus", "params:partition"
HELD_BY, UNITS = FLEXIBLE("private_silos"), FLEXIBLE("population")
START, OPENED = FLEXIBLE("server"), FLEXIBLE("ledger_open")
BEGUN, PLAN = FLEXIBLE("ledger_begun"), FLEXIBLE("plan")
TRAINED, TRAINED_LEDGER, ADAPTER = (FLEXIBLE(f"tuned.{name}") for name in ("server", "ledger", "adapter"))
PROFILE, PROFILE_LEDGER = "flexible_profile", FLEXIBLE("profile.ledger")
COUNTS = FLEXIBLE("vote.text_counts")
CHOICE_LEDGER = FLEXIBLE("vote.ledger")
TEXTS = [FLEXIBLE("vote.candidates"), FLEXIBLE("vote.candidate_embeddings")]
SCORES = FLEXIBLE("vote.scores")
VOTES = "votes"  # the figure of how they spread
EMBEDDED = ["private_embeddings", "private_enrolment", HELD_BY, "private_noise_key"]


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the paper's algorithm, or a variant with another selection of texts."""
    selection = settings.group("flexible")["selection"]
    return Pipeline([*_setup(settings.corpus_is_public), *_training(), *_profile(), *_refinement(selection)])


def _setup(counted: bool) -> list[Node]:
    counting = FLEXIBLE.node(
        nodes.count_silos,
        [HELD_BY, "private_train", PRIVACY, SILOS],
        UNITS,
        name="count_silos",
        tags=Tag.COUNT,
    )
    declaring = FLEXIBLE.node(nodes.declare_silos, SILOS, UNITS, name="declare_silos")
    return [
        FLEXIBLE.node(nodes.assign_silos, ["private_clients", SILOS, PRIVACY], HELD_BY, name="assign_silos"),
        counting if counted else declaring,
        FLEXIBLE.node(nodes.start_weights, ["generator", PARAMETERS], START, name="start_weights", tags=Tag.START),
        FLEXIBLE.node(
            nodes.open_flexible_ledger,
            [UNITS, START, "encoder", PARAMETERS, SILOS, PRIVACY, CORPUS, PARTITION],
            OPENED,
            name="open_flexible_ledger",
            tags=Tag.BUDGET,
        ),
        FLEXIBLE.node(nodes.begin_ledger, OPENED, [BEGUN, PLAN], name="begin_ledger"),
    ]


def _training() -> list[Node]:
    rows = FLEXIBLE("private_code_rows")
    return [
        FLEXIBLE.node(
            nodes.tokenise_behind_codes,
            ["private_train", "generator", PARAMETERS, CHUNKING],
            rows,
            name="tokenise_behind_codes",
        ),
        FLEXIBLE.node(
            nodes.train_strong_silos,
            [rows, "private_enrolment", HELD_BY, "private_noise_key", BEGUN, "generator", START, PARAMETERS],
            [TRAINED, TRAINED_LEDGER],
            name="train_strong_silos",
            tags=Tag.RELEASE,
        ),
        FLEXIBLE.node(nodes.write_adapter, ["generator", START, TRAINED, PARAMETERS], ADAPTER, name="write_adapter"),
    ]


def _profile() -> list[Node]:
    return [
        FLEXIBLE.node(
            nodes.count_codes,
            [*EMBEDDED, TRAINED_LEDGER, PARAMETERS],
            [PROFILE, PROFILE_LEDGER],
            name="count_codes",
            tags=Tag.RELEASE,
        ),
        FLEXIBLE.node(nodes.share_out_texts, [PROFILE, PARAMETERS], COUNTS, name="share_out_texts"),
        FLEXIBLE.node(
            nodes.write_by_profile,
            ["generator", ADAPTER, TRAINED, COUNTS, PARAMETERS, CHUNKING],
            TEXTS[0],
            name="write_by_profile",
        ),
        FLEXIBLE.node(nodes.embed_candidates, [TEXTS[0], "encoder"], TEXTS[1], name="embed_candidates"),
    ]


def _refinement(selection: str) -> list[Node]:
    made = ALGORITHM.outputs
    kept, released = [made.synthetic, made.synthetic_embeddings], [SCORES, made.ledger]
    going_on = FLEXIBLE.node(nodes.go_on_with_ledger, [PROFILE_LEDGER, PLAN], CHOICE_LEDGER, name="go_on_with_ledger")
    exchanged = FLEXIBLE.node(
        nodes.count_exchanged, [START, OPENED, TEXTS[1], PARAMETERS], made.exchange, name="count_exchanged"
    )
    if selection == "votes":
        reading = FLEXIBLE.node(
            nodes.cast_votes,
            [*EMBEDDED, CHOICE_LEDGER, *TEXTS, PARAMETERS],
            released,
            name="cast_votes",
            tags=Tag.RELEASE,
        )
        keeping = FLEXIBLE.node(nodes.keep_by_votes, [*TEXTS, SCORES, PARAMETERS], kept, name="keep_by_votes")
    elif selection == "herd":
        reading = FLEXIBLE.node(
            nodes.release_code_means,
            [*EMBEDDED, CHOICE_LEDGER, PARAMETERS],
            released,
            name="release_code_means",
            tags=Tag.RELEASE,
        )
        keeping = FLEXIBLE.node(nodes.keep_by_means, [*TEXTS, SCORES, PARAMETERS], kept, name="keep_by_means")
    else:
        reading = last_ledger(FLEXIBLE.name, CHOICE_LEDGER)
        keeping = FLEXIBLE.node(nodes.keep_at_random, [*TEXTS, PARAMETERS], kept, name="keep_at_random")
    told = (nodes.draw_votes, [TEXTS[0], SCORES, made.ledger, PARAMETERS])
    draw, given = told if selection == "votes" else (nodes.draw_no_votes, [TEXTS[0]])
    drawing = FLEXIBLE.node(draw, given, made.figure(VOTES), name="draw_votes", tags=Tag.REPORT)
    return [going_on, reading, keeping, exchanged, drawing]


ALGORITHM = Algorithm(
    name=FLEXIBLE.name,
    title="Flexible participation",
    paper="anonymous, arXiv 2603.07027",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
    figures=(VOTES,),
)
