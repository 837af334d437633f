"""client_tokens: the clients' samples as the on-device model reads them, for algorithms that train it. All private."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.client_tokens.nodes import tokenise_private_samples


def create_pipeline() -> Pipeline:
    """`private_token_rows`."""
    return Pipeline(
        [
            node(
                tokenise_private_samples,
                ["private_train", "on_device", "params:chunking"],
                "private_token_rows",
                name="tokenise_private_samples",
            )
        ]
    )
