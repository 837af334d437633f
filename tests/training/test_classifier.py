"""What every kind of classifier promises, and the fine-tuned one on the offline encoder."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from fedtext.models.encoder import Encoder, load_encoder
from fedtext.params.evaluation import ClassifierTraining
from fedtext.training.classifier import FineTuned, Logistic, _first_states, train_classifier
from tests.parameters import conf_base
from tests.refusals import refuses

TEXTS = [
    "my card was stolen on the train",
    "I lost my bank card yesterday",
    "somebody took my wallet and the card in it",
    "please block the card that I lost",
    "what is the exchange rate of the euro",
    "which rate do you use for dollars",
    "is there a fee when I exchange currency",
    "how many pounds do I get for one euro",
]
CODES = np.asarray([0, 0, 0, 0, 2, 2, 2, 2])
NEW, WANTED = ["the card is gone, it was stolen", "the rate for euros and dollars"], [0, 2]
FAST = {"epochs": 6.0, "batch_size": 4, "learning_rate": 3e-4}


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("offline", device="cpu")


@pytest.mark.parametrize(
    ("kind", "reads"),
    [("tfidf", "sentence"), ("embeddings", "sentence"), ("fine_tuned", "sentence"), ("fine_tuned", "first_token")],
)
def test_it_learns_and_a_class_without_texts_is_not_given(kind: str, reads: str, encoder: Encoder) -> None:
    training = conf_base(ClassifierTraining, kind=kind, head_reads=reads, fine_tuning=FAST)
    before = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    learner = train_classifier(encoder, TEXTS, CODES, 3, training, seed=1, label="test")
    found = learner.probabilities(NEW)
    assert found.argmax(axis=1).tolist() == WANTED
    assert found.sum(axis=1) == pytest.approx(1)
    assert learner.probabilities([]).shape == (0, 3)
    assert kind == "fine_tuned" or (found[:, 1] == 0).all()
    assert all((weight == before[name]).all() for name, weight in encoder.model.state_dict().items())


@pytest.mark.parametrize("kind", ["tfidf", "embeddings", "fine_tuned"])
def test_a_text_s_probabilities_depend_on_no_other_text(kind: str, encoder: Encoder) -> None:
    """A test client sends how many of its texts were right, and nobody else's text may move that, to the last bit."""
    rng, words = np.random.default_rng(0), " ".join(TEXTS).split()
    texts = [" ".join(rng.choice(words, size=size)) for size in (90, *rng.integers(3, 12, size=20))]
    training = conf_base(ClassifierTraining, kind=kind, fine_tuning={**FAST, "epochs": 0.5})
    learner = train_classifier(encoder, TEXTS, CODES // 2, 2, training, seed=1, label="test")
    among_all, without_one = learner.probabilities(texts)[1:], learner.probabilities(texts[1:])
    assert among_all.tobytes() == without_one.tobytes()


@pytest.mark.parametrize("codes", [CODES // 2, np.arange(len(CODES)) % 3])
def test_a_regression_s_probabilities_are_scikit_learn_s(codes: np.ndarray, encoder: Encoder) -> None:
    learner = train_classifier(encoder, TEXTS, codes, 3, conf_base(ClassifierTraining), seed=1, label="test")
    assert isinstance(learner, Logistic)
    theirs = learner._regression.predict_proba(learner._features(NEW))
    assert learner.probabilities(NEW)[:, learner._regression.classes_] == pytest.approx(theirs, abs=1e-6)


def test_fine_tuning_is_repeated_by_its_seed(encoder: Encoder) -> None:
    training = conf_base(ClassifierTraining, kind="fine_tuned", fine_tuning={**FAST, "epochs": 1.0})
    once, again, other = (
        train_classifier(encoder, TEXTS, CODES, 3, training, seed=seed, label="test").probabilities(NEW)
        for seed in (1, 1, 2)
    )
    assert once == pytest.approx(again, abs=1e-5)
    assert np.abs(once - other).max() > 1e-4


def test_a_head_of_the_first_token_sees_that_state_alone(encoder: Encoder) -> None:
    import torch

    head = torch.nn.Linear(encoder.dim, encoder.dim)
    torch.nn.init.eye_(head.weight)
    torch.nn.init.zeros_(head.bias)
    model = FineTuned(copy.deepcopy(encoder.model).float().eval(), head, 32, first_token=True)
    with torch.inference_mode():
        given = encoder.model.tokenizer(TEXTS[:2], padding=True, return_tensors="pt")
        states = encoder.model[0].auto_model(**given).last_hidden_state
        assert torch.allclose(model.logits(TEXTS[:2]), states[:, 0], atol=1e-5)
        assert not torch.allclose(model.logits(TEXTS[:2]), states.mean(dim=1), atol=1e-2)


def test_an_encoder_without_states_of_tokens_has_no_first_one() -> None:
    with refuses("encoder-without-token-states"):
        _first_states({"sentence_embedding": np.zeros((1, 3))})


def test_one_class_alone_is_given_to_every_text(encoder: Encoder) -> None:
    learner = train_classifier(encoder, TEXTS[:2], CODES[:2], 3, conf_base(ClassifierTraining), seed=0, label="test")
    assert learner.probabilities(NEW).tolist() == [[1, 0, 0]] * 2


def test_bad_input(encoder: Encoder) -> None:
    training = conf_base(ClassifierTraining)
    with refuses("no-labelled-texts"):
        train_classifier(encoder, [], CODES[:0], 3, training, seed=0, label="test")
    with refuses("class-out-of-range"):
        train_classifier(encoder, TEXTS, CODES, 2, training, seed=0, label="test")
