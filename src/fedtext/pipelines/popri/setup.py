"""What happens once, before the rounds; with a single release this is where private data are read."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.popri.nodes import setup as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.outputs import Outputs
from fedtext.wiring.unrolling import Namespace

POPRI = Namespace("popri")
PARAMS, PRIVACY = "params:popri", "params:privacy"
HELD = ("private_enrolment", "private_noise_key")
POOL, RELEASED = "popri_prompt_pool", "popri_released_mean"


def setup_pipeline(single: bool) -> Pipeline:
    """Ledger, adapter 0, first state, prompt pool, and with a single release that release."""
    return Pipeline([*_start(), *(_single_release() if single else [_whole_pool()])])


def _start() -> list[Node]:
    return [
        POPRI.node(
            nodes.open_popri_ledger,
            ["population", "encoder", PARAMS, PRIVACY],
            POPRI("ledger_open"),
            name="open_popri_ledger",
            tags=Tag.BUDGET,
        ),
        POPRI.node(nodes.start_adapter, ["generator", PARAMS], POPRI("adapter"), name="start_adapter"),
        POPRI.node(nodes.start_state, None, POPRI("state"), name="start_state"),
    ]


def _single_release() -> list[Node]:
    """The one release, and what it does for public text: the prompt pool and a control."""
    return [
        POPRI.node(
            nodes.release_mean_features,
            ["private_train", "private_embeddings", *HELD, POPRI("ledger_open"), PARAMS],
            [RELEASED, POPRI("ledger")],
            name="release_mean_features",
            tags=Tag.RELEASE,
        ),
        POPRI.node(
            nodes.match_public_samples,
            ["public_samples", "public_embeddings", RELEASED, PARAMS],
            POOL,
            name="match_public_samples",
        ),
        POPRI.node(
            nodes.match_public_control,
            ["public_samples", "public_embeddings", RELEASED, PARAMS],
            Outputs(POPRI.name).matched_public,
            name="match_public_control",
        ),
    ]


def _whole_pool() -> Node:
    return POPRI.node(nodes.all_public_samples, "public_samples", POOL, name="all_public_samples")
