"""Nodes that judge policies: prompts that nobody trained on, verdicts of a model, and margins that tell members."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.corpora.public import held_out
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.policies import Policies
from fedtext.params.privacy import Privacy
from fedtext.pipelines.evaluation.nodes import preferences as nodes
from fedtext.pipelines.pairs import nodes as pairs
from fedtext.reporting.preferences import membership_sentence
from tests.parameters import conf_base
from tests.refusals import refuses

ASKED = pd.DataFrame({"prompt_id": range(6), "prompt": [f"prompt {n}" for n in range(6)]})


class Decided:
    """A model that calls the shorter response the better one."""

    identity = "a made-up model"

    def write(self, prompts: Sequence[str], **_: Any) -> list[list[str]]:
        shorter = [request.index("Response B:") - request.index("Response A:") for request in prompts]
        ends = [request.index("First compare") - request.index("Response B:") for request in prompts]
        return [[f"Shorter is better.\n{'A' if a < b else 'B'}"] for a, b in zip(shorter, ends, strict=True)]


def test_prompts_that_are_trained_on_are_not_asked(tmp_path: Path) -> None:
    (tmp_path / "prompts.csv").write_text("text\n" + "\n".join(ASKED["prompt"]) + "\n", encoding="utf-8")
    corpus = conf_base(Corpus, source="hh", path="pairs.jsonl", public_path=str(tmp_path / "prompts.csv"))
    trained = ASKED.iloc[[1, 3, 5]]
    found = nodes.hold_out_prompts(corpus, conf_base(Policies, prompts=2), trained)
    assert set(found["prompt"]) <= {"prompt 0", "prompt 2", "prompt 4"}
    assert found["prompt_id"].tolist() == [0, 1]
    assert len(nodes.hold_out_prompts(corpus, conf_base(Policies, prompts=6))) == 6
    with refuses("no-public-prompt-left"):
        held_out(ASKED, ASKED["prompt"].tolist(), 2)


def test_a_model_judges_by_what_it_says() -> None:
    prompts = ASKED.head(2)
    said = {"policy": ["short", "brief"], "untuned": ["a long answer", "a longer answer"]}
    answers = {name: pd.DataFrame({"text": texts}) for name, texts in said.items()}
    found = nodes.judge_by_model(Decided(), "hh", conf_base(Policies), prompts, **answers)  # type: ignore[arg-type]
    assert found["conditions"]["policy"]["win_rate"] == 1.0
    assert found["judge"] == "a made-up model, 0% of its answers without a verdict"


def pairs_of(clients: int) -> pd.DataFrame:
    rows = [(f"prompt {n}", f"chosen {n}", f"rejected {n}", f"person {n}") for n in range(clients)]
    return pd.DataFrame(rows, columns=["prompt", "chosen", "rejected", "client_id"])


def test_test_pairs_of_a_public_corpus_are_those_of_the_private_split(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    pairs_of(60).to_csv(file, index=False)
    corpus = conf_base(Corpus, source="table", path=str(file), declared_public=True)
    privacy, partition = conf_base(Privacy), conf_base(Partition)
    read = pairs.read_private_pairs(corpus, privacy, partition)
    *_, test = pairs.split_pairs(read, corpus, partition)
    asked = nodes.read_test_prompts(corpus, privacy, partition, conf_base(Policies, prompts=5))
    assert len(asked) == min(5, len(test))
    assert asked["prompt_id"].tolist() == list(range(len(asked)))
    assert set(asked["prompt"]) <= set(test["prompt"])
    own = test.set_index("prompt")["chosen"]
    assert asked["chosen"].tolist() == own[asked["prompt"]].tolist()
    everything = nodes.read_test_prompts(corpus, privacy, partition, conf_base(Policies, prompts=1000))
    assert set(everything["prompt"]) == set(test["prompt"])
    answers = {name: everything.assign(text=everything["chosen"]) for name in ("policy", "untuned")}
    found = nodes.judge_by_model(Decided(), "table", conf_base(Policies), everything, **answers)  # type: ignore[arg-type]
    assert found["conditions"]["policy"]["people_win_rate"] == 0.5


GAUSSIAN = {"epsilon": 1.0, "delta": 1e-5, "releases": [{"sampling": "full"}, {"sampling": "full"}]}
SAMPLED = {**GAUSSIAN, "releases": [{"sampling": "full"}, {"sampling": "poisson"}]}


def margins(shift: float, *, alone: bool = True) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    scores = {"members": rng.normal(shift, 1.0, 300), "others": rng.normal(0.0, 1.0, 200)}
    return {**scores, **{f"clients_of_{k}": np.arange(len(v)) for k, v in scores.items()}, "alone": np.array(alone)}


@pytest.mark.parametrize(("shift", "above"), [(0.0, False), (3.0, True)])
@pytest.mark.parametrize(
    ("report", "most"),
    [(GAUSSIAN, 0.575), (SAMPLED, 0.731), ({**GAUSSIAN, "releases": [], "epsilon": 0.0}, 0.5)],
)
def test_membership_beyond_the_budget_is_called_a_leak(
    shift: float, above: bool, report: dict[str, Any], most: float
) -> None:
    """Where every release asks everybody, the ceiling is a Gaussian's, far below what epsilon alone says."""
    found = nodes.infer_membership(margins(shift), report)
    assert found["above"] is above
    assert found["ceiling"] == pytest.approx(most, abs=5e-4)
    assert (found["members"], found["others"]) == (300, 200)
    assert nodes.infer_membership(margins(shift), {**report, "epsilon": "infinity"})["ceiling"] is None


@pytest.mark.parametrize("alone", [True, False])
def test_a_leak_is_named_only_where_units_are_alone(alone: bool) -> None:
    said = membership_sentence(nodes.infer_membership(margins(3.0, alone=alone), GAUSSIAN))
    assert ("something leaks" in said) is alone
    assert ("nothing follows" in said) is not alone
