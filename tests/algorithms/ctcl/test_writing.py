"""Texts behind keywords: rows as the generator is asked, a lesson that is learned, and texts in proportion."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fedtext.algorithms.ctcl import writing
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.language_model import LanguageModel
from fedtext.training.client_gradients import as_unscored
from tests.algorithms.ctcl.examples import LAND, SEA, ctcl

KEYWORDS = ["harbour, ship", "field, farm, wheat"]
LENGTH = 32


def rows(texts: list[str], topic: list[int]) -> np.ndarray:
    model, tokenizer = LanguageModel("bundled:generator").load()
    made, _ = writing.training_rows(model, tokenizer, texts, np.array(topic), KEYWORDS, ctcl(), LENGTH)
    return made


def test_a_row_shows_its_topic_s_keywords_as_the_final_prompts_do_and_scores_the_text() -> None:
    tokenizer = LanguageModel("bundled:generator").tokenizer()
    asked = [tokenizer(request)["input_ids"] for request in writing.requests(KEYWORDS, ctcl())]
    for row, topic, text in zip(rows([SEA[0], LAND[0]], [0, 1]), (0, 1), (SEA[0], LAND[0]), strict=True):
        assert as_unscored(row[: len(asked[topic])]).tolist() == asked[topic]
        scored = row[row >= 0].tolist()
        assert tokenizer.decode(scored[:-1]) == text
        assert scored[-1] == tokenizer.eos_token_id


def test_a_row_s_width_is_that_of_the_topics_whoever_writes_about_which() -> None:
    assert rows(SEA, [0, 0, 0]).shape[1] == rows(LAND, [1, 1, 1]).shape[1]


def test_a_topic_without_keywords_has_the_nameless_prompt() -> None:
    assert writing.requests(["", "ship"], ctcl()) == ["Text\n\n", "ship\n\n"]


class Shouting:
    """Writes its keywords back; of every fourth request nothing."""

    identity = "shouting"
    length_tokenizer = staticmethod(LanguageModel("bundled:generator").tokenizer)

    def write(self, requests: list[str], *, responses: int, **_: object) -> list[list[str]]:
        return [[request.strip().upper()] * responses for request in requests]


@pytest.mark.parametrize(
    ("counts", "wanted"), [([30.0, 10.0], (9, 3)), ([12.0, -5.0], (12, 0)), ([-1.0, -2.0], (6, 6))]
)
def test_texts_are_in_the_proportions_of_the_noisy_counts(counts: list[float], wanted: tuple[int, int]) -> None:
    params = ctcl(sampler={"legible_only": False})
    table = writing.written_by_topic(Shouting(), KEYWORDS, np.array(counts), params, LENGTH)  # type: ignore[arg-type]
    found = Counter(table["text"])
    assert tuple(found[words.upper()] for words in KEYWORDS) == wanted
    assert table["label"].isna().all()


@pytest.mark.slow
def test_the_generator_learns_to_write_a_text_from_its_keywords() -> None:
    """A text's loss behind its own keywords falls by the lesson, and by more than behind another's."""
    import torch

    from fedtext.training.lora import adapted_model, adapter_weights

    generator = LocalGenerator("bundled:generator")
    params = ctcl(public_training={"epochs": 60.0, "batch_size": 3, "learning_rate": 3e-3})
    untrained = adapted_model(generator, params.lora, seed=writing.adapter_seed(params))
    before = adapter_weights(untrained)
    after = writing.taught_weights(generator, [*SEA, *LAND], params, LENGTH)
    assert after.shape == before.shape

    def losses(weights: np.ndarray, topic: list[int]) -> float:
        model = adapted_model(generator, params.lora, seed=writing.adapter_seed(params))
        trained = [p for p in model.parameters() if p.requires_grad]
        torch.nn.utils.vector_to_parameters(torch.from_numpy(weights), trained)
        ids = torch.from_numpy(rows([*SEA, *LAND], topic).astype(np.int64)).to(model.device)
        shown = torch.where(ids < -1, -2 - ids, ids).clamp(min=0)
        with torch.no_grad():
            return float(model(input_ids=shown, labels=torch.where(ids >= 0, ids, -100)).loss)

    right, wrong = [0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]
    assert losses(after, right) < 0.7 * losses(before, right)
    assert losses(after, right) < losses(after, wrong)
