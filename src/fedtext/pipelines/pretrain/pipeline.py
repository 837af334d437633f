"""pretrain: public docstrings -> tokenizer -> the two bundled language models."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.pretrain.nodes import (
    read_pretraining_text,
    train_bundled_tokenizer,
    train_generator,
    train_on_device,
)
from fedtext.privacy.tags import Tag


def create_pipeline() -> Pipeline:
    """Four nodes; copy the two model directories to src/fedtext/bundled/ to ship them."""
    text = ["pretraining_text", "held_out_text", "pretrained_tokenizer", "params:pretrain", "params:chunking"]
    return Pipeline(
        [
            node(
                read_pretraining_text,
                ["params:corpus", "params:pretrain"],
                ["pretraining_text", "held_out_text"],
                name="read_pretraining_text",
                tags=Tag.READS_PACKAGES,
            ),
            node(
                train_bundled_tokenizer,
                ["pretraining_text", "params:pretrain"],
                "pretrained_tokenizer",
                name="train_bundled_tokenizer",
            ),
            node(train_generator, text, "pretrained_generator", name="train_generator"),
            node(train_on_device, text, "pretrained_on_device", name="train_on_device"),
        ]
    )
