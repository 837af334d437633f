"""Rules find what their patterns say; a public token classifier is read as its labels say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.datasets.models import TaggerDataset
from fedtext.models.rule_tagger import RuleTagger
from fedtext.models.tagger import Entity, TokenClassifier, tokens_of
from tests.refusals import refuses


def found(text: str) -> list[tuple[str, str]]:
    (entities,) = RuleTagger().entities([text])
    return [(text[one.start : one.end], one.kind) for one in entities]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pay £20.50 by 3 May 2024 to a.b@bank.org.", [("£20.50", "money"), ("3 May 2024", "date"), ("a.b@bank.org", "address")]),
        ("See https://x.org/a_b or www.y.net.", [("https://x.org/a_b", "address"), ("www.y.net", "address")]),
        ("Call os.path.join and set my_flag via run().", [("os.path.join", "identifier"), ("my_flag", "identifier"), ("run()", "identifier")]),
        ("On Tuesday, 2024-01-02, I was in New York with 3 of 1,000 cards, 5% lost.", [
            ("Tuesday", "date"), ("2024-01-02", "date"), ("New York", "name"), ("3", "number"), ("1,000", "number"), ("5%", "number"),
        ]),
        ("Where does a sentence begin? Here. No name.", []),
    ],
)  # fmt: skip
def test_rules_find_what_they_say(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@given(st.lists(st.text(alphabet="aA1£._@ /-,", max_size=30), max_size=4))
def test_a_text_s_entities_are_its_own_ascending_and_apart(texts: list[str]) -> None:
    tagger = RuleTagger()
    every = tagger.entities(texts)
    assert every == [tagger.entities([text])[0] for text in texts]
    for text, entities in zip(texts, every, strict=True):
        ends = [0, *(one.end for one in entities)]
        assert all(0 <= end <= one.start < one.end <= len(text) for end, one in zip(ends, entities, strict=False))
        assert {one.kind for one in entities} <= set(tagger.kinds)


def test_tokens_are_words_and_single_marks() -> None:
    assert [("it's 5%."[a:b]) for a, b in tokens_of("it's 5%.")] == ["it", "'", "s", "5", "%", "."]


def test_the_rules_are_told_apart_by_their_file() -> None:
    dataset = TaggerDataset(source="rules")
    assert isinstance(dataset.load(), RuleTagger)
    assert dataset.exists()
    assert Path(dataset.identity()).name == "rule_tagger.py"
    assert dataset.context is None


def test_a_tagger_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refuses("no-model-directory"):
        TaggerDataset(source=str(tmp_path / "nowhere")).exists()


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A token classifier of two kinds whose weights say: `york` begins a place, whatever else there is."""
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast

    place = tmp_path_factory.mktemp("tagger")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "york", "we", "are"]
    (place / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(place / "vocab.txt")).save_pretrained(place)
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        id2label={0: "O", 1: "B-PLACE", 2: "I-PLACE", 3: "B-DAY"}, label2id={"O": 0, "B-PLACE": 1, "I-PLACE": 2, "B-DAY": 3},
    )  # fmt: skip
    torch.manual_seed(0)
    model = BertForTokenClassification(config).eval()
    with torch.no_grad():
        for name, weight in model.bert.encoder.named_parameters():
            weight.mul_(0.0 if "LayerNorm" not in name else 1.0)
        tokens = model.bert(torch.tensor([[2, 5, 6, 7, 8, 3]])).last_hidden_state[0]
        target = torch.tensor([0, 0, 1, 0, 0, 0])
        for row, label in enumerate([0, 1, 2, 3]):
            model.classifier.weight[label] = 0
            model.classifier.bias[label] = 1.0 if label == 0 else -50.0
            del row
        away = tokens[2] - tokens[target == 0].mean(0)
        scores = tokens @ away
        model.classifier.weight[1] = away * 100
        model.classifier.bias[1] = -100 * (scores[2] + scores[target == 0].max()) / 2
    model.save_pretrained(place)
    return place


def test_a_token_classifier_is_read_as_its_labels_say(classifier: Path) -> None:
    tagger = TaggerDataset(source=str(classifier)).load()
    assert isinstance(tagger, TokenClassifier)
    assert tagger.kinds == ("DAY", "PLACE")
    assert json.loads((classifier / "config.json").read_text())["id2label"]["0"] == "O"
    assert tagger.entities(["in york we are", "we are"]) == [[Entity(3, 7, "PLACE")], []]
    assert tagger.entities([]) == []
