"""What happens once, before the rounds; with a single release this is where private data are read."""

from functools import partial

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.popri.nodes import setup as nodes
from fedtext.privacy.tags import Tag

NAME = "popri"
POPRI, PRIVACY = "params:popri", "params:privacy"
popri_node = partial(node, namespace=NAME)


def setup_pipeline(single: bool) -> Pipeline:
    """Ledger, adapter 0, first state, prompt pool, and with a single release that release."""
    return Pipeline([*_start(), *(_single_release() if single else [_whole_pool()])])


def _start() -> list[Node]:
    return [
        popri_node(
            nodes.open_popri_ledger,
            ["population", POPRI, PRIVACY],
            "popri.ledger_open",
            name="open_popri_ledger",
            tags=Tag.BUDGET,
        ),
        popri_node(nodes.start_adapter, ["generator", POPRI], "popri.adapter", name="start_adapter"),
        popri_node(nodes.start_state, None, "popri.state", name="start_state"),
    ]


def _single_release() -> list[Node]:
    """The one release, and what it does for public text: the prompt pool and a control."""
    return [
        popri_node(
            nodes.release_mean_features,
            ["private_embeddings", "private_enrolment", "private_noise_key", "popri.ledger_open", POPRI],
            ["popri_released_mean", "popri.ledger"],
            name="release_mean_features",
            tags=Tag.RELEASE,
        ),
        popri_node(
            nodes.match_public_samples,
            ["public_embeddings", "popri_released_mean", POPRI],
            "popri_prompt_pool",
            name="match_public_samples",
        ),
        popri_node(
            nodes.match_public_control,
            ["public_samples", "public_embeddings", "popri_released_mean", POPRI],
            "popri_matched_public",
            name="match_public_control",
        ),
    ]


def _whole_pool() -> Node:
    return popri_node(nodes.all_public_samples, "public_samples", "popri_prompt_pool", name="all_public_samples")
