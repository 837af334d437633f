"""clients: the noise key, enrolment and embeddings that every algorithm starts from; nothing is released."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.clients import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.readers import Reader

CORPUS, PRIVACY, PARTITION = "params:corpus", "params:privacy", "params:partition"


def create_pipeline(*, counted: bool = False) -> Pipeline:
    """Create the noise key, population, enrolment, and the embeddings of private and public samples.

    `counted`: the population is counted, which only a public corpus allows; else it is declared.
    """
    return Pipeline(
        [
            noise_key(),
            _counted() if counted else _declared(),
            node(
                nodes.enrol_units,
                ["private_clients", "private_train", CORPUS, PRIVACY, PARTITION],
                "private_enrolment",
                name="enrol_units",
                tags=Tag.CHECK,  # more units than were declared are refused before public text is written
            ),
            node(
                nodes.embed_private_samples,
                ["private_train", "encoder"],
                "private_embeddings",
                name="embed_private_samples",
            ),
            node(
                nodes.embed_public_samples,
                ["public_samples", "encoder"],
                "public_embeddings",
                name="embed_public_samples",
            ),
        ]
    )


def noise_key() -> Node:
    """Create the node of the run's secret key, which does not depend on its private data."""
    return node(
        nodes.create_noise_key,
        "params:privacy.noise_seed",
        "private_noise_key",
        name="create_noise_key",
        tags=Tag.KEEP,  # a key that is there is never made anew: that would be a second release
    )


def tokens_pipeline() -> Pipeline:
    """Create `private_token_rows`: the samples as the on-device model reads them, for algorithms that train it."""
    return Pipeline(
        [
            node(
                nodes.tokenise_private_samples,
                ["private_train", "on_device", "params:chunking"],
                "private_token_rows",
                name="tokenise_private_samples",
            )
        ]
    )


def _declared() -> Node:
    return node(
        nodes.declare_population,
        [CORPUS, PRIVACY, PARTITION],
        "population",
        name=Reader.ENROLMENT,
        tags=Tag.COUNT,  # of a list of ids, which is private, the numbers are declared public
    )


def _counted() -> Node:
    return node(
        nodes.count_population,
        ["private_clients", "private_samples", PRIVACY, PARTITION],
        "population",
        name="count_population",
        tags=Tag.COUNT,
    )
