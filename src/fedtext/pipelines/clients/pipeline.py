"""clients: what every algorithm starts from. Private data stay private here; nothing is released."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.clients.nodes import (
    count_units,
    create_noise_key,
    embed_private_samples,
    embed_public_samples,
)


def create_pipeline() -> Pipeline:
    """Noise key, population, and the embeddings of private and public samples."""
    return Pipeline(
        [
            node(
                create_noise_key,
                "params:privacy.noise_seed",
                "private_noise_key",
                name="create_noise_key",
                tags="keep",  # a key that is there is never made anew: that would be a second release
            ),
            node(
                count_units,
                ["private_train", "params:privacy"],
                "population",
                name="count_units",
                tags="public_count",
            ),
            node(
                embed_private_samples,
                ["private_train", "encoder"],
                "private_embeddings",
                name="embed_private_samples",
            ),
            node(
                embed_public_samples,
                ["public_samples", "encoder"],
                "public_embeddings",
                name="embed_public_samples",
            ),
        ]
    )
