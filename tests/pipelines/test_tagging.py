"""The graph's own nodes that tag held-out text, run at a tiny size with a real encoder, up to the report's table."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from fedtext.evaluation.tasks.entities import ENTITIES, LEARNERS
from fedtext.models.encoder import load_encoder
from fedtext.models.rule_tagger import RuleTagger
from fedtext.params.corpus import Partition
from fedtext.params.evaluation import EntityHead, Evaluation
from tests.contracts.graphs import registered
from tests.evaluation.test_entities import FAST, texts
from tests.parameters import conf_base


def frame(count: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame({"client_id": [f"client {i // 2}" for i in range(count)], "text": texts(count, seed)})


@pytest.mark.parametrize("head", ["logistic", "fine_tuned"])
def test_either_head_goes_through_the_graph_s_nodes(head: EntityHead) -> None:
    measured = {"measured": True, "head": head, "fine_tuning": FAST}
    evaluation = conf_base(Evaluation, entities=measured, texts=8, private_texts=16)
    made: dict[str, Any] = {
        "private_test_sample": frame(12, 1),
        "private_train": frame(40, 2),
        "public_samples": frame(20, 3).assign(text="nothing to be seen here"),
        "pe_synthetic": frame(20, 4),
        "tagger": RuleTagger(),
        "classifier": load_encoder("offline", device="cpu"),
        "params:evaluation": evaluation,
        "params:evaluation.entities": evaluation.entities,
        "params:partition": conf_base(Partition),
    }
    for node in registered(None, evaluation={"entities": {"measured": True}})["pe"].nodes:
        if node.short_name.startswith("tag_") or "pe_downstream_entities" in node.outputs:
            made |= node.run({name: made[name] for name in node.inputs})
    document = made["pe_downstream_entities"]
    assert {name: own["texts"] for name, own in document["conditions"].items()} == {
        "public_control": 8,
        "synthetic": 8,
        "private": 16,
    }
    assert document["conditions"]["public_control"]["entity_f1"] == 0
    assert document["conditions"]["private"]["entity_f1"] > 0
    (table,) = ENTITIES.tables(document)
    assert LEARNERS[head] in table.caption
