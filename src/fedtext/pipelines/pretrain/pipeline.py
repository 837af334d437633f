"""pretrain: docstrings -> the bundled generator; text that a chat model writes -> the bundled on-device model."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.pretrain.nodes import (
    read_pretraining_text,
    train_bundled_tokenizer,
    train_generator,
    train_on_device,
    write_general_text,
)
from fedtext.privacy.tags import Tag

SIZES = ["params:pretrain", "params:chunking"]


def create_pipeline() -> Pipeline:
    """Create six nodes; copy the two model directories to src/fedtext/bundled/ to ship them."""
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
                write_general_text,
                ["generator", "encoder", "params:pretrain"],
                ["general_text", "held_out_general_text"],
                name="write_general_text",
            ),
            _tokenizer("generator", "pretraining_text"),
            _tokenizer("on_device", "general_text"),
            node(
                train_generator,
                ["pretraining_text", "held_out_text", "pretrained_generator_tokenizer", *SIZES],
                "pretrained_generator",
                name="train_generator",
            ),
            node(
                train_on_device,
                ["general_text", "held_out_general_text", "pretrained_on_device_tokenizer", "generator", *SIZES],
                "pretrained_on_device",
                name="train_on_device",
            ),
        ]
    )


def _tokenizer(model: str, text: str) -> Node:
    return node(
        train_bundled_tokenizer,
        [text, "params:pretrain"],
        f"pretrained_{model}_tokenizer",
        name=f"train_{model}_tokenizer",
    )
