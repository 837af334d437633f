"""One client's presence moves nothing but its own message: from records to the integer sum at the door, bit for bit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from audits.corpus import paired
from fedtext.corpora.public import stdlib_records
from fedtext.params.corpus import Corpus
from tests.neighbours.world_sizes import small
from tests.neighbours.worlds import World, moved
from tests.parameters import conf_base
from tests.words import WORDS

CLUSTERED = {"form": "clustered", "heads": 3, "heads_by": "difference", "projection": "public", "dimensions": 6}
TRAINED = {"scorer": "bradley_terry", "training": {"steps": 3}}
FORMS = [  # algorithm, what differs from the small sizes, protected unit
    ("popri", {}, "client"),
    ("popri", {"popri": {"scoring": "mean_cosine", "prompt_pool": "random", "oversample": 1.0, "rounds": 1}}, "client"),
    ("popri", {"privacy": {"sampling": "poisson", "clients_per_round": 12, "adjacency": "add_remove"}}, "client"),
    ("popri", {"popri": {"variant": "central"}, "privacy": {"unit": "record", "aggregation": "trusted"}}, "record"),
    ("popri", {"privacy": {"aggregation": "local", "adjacency": "replace_one"}}, "client"),
    ("pe", {}, "client"),
    ("pe", {"pe": {"form": "aug_pe"}, "privacy": {"unit": "record", "aggregation": "trusted"}}, "record"),
    ("pe_sft", {"privacy": {"sampling": "poisson", "clients_per_round": 12}}, "client"),
    ("wasp", {}, "client"),
    ("wasp", {"privacy": {"unit": "record", "aggregation": "trusted"}, "wasp": {"model_sums": True}}, "record"),
    (
        "wasp",
        {"wasp": {"votes": "single_release"}, "privacy": {"unit": "record", "population": 120, "holders": 40}},
        "record",
    ),
    ("dp_fedavg", {}, "client"),
    ("dp_fedavg", {"privacy": {"sampling": "poisson", "clients_per_round": 12, "adjacency": "replace_one"}}, "client"),
    ("dp_fedavg", {"privacy": {"unit": "record"}}, "record"),
    ("dp_fedavg", {"privacy": {"unit": "record", "aggregation": "local", "population": 120, "holders": 40}}, "record"),
    ("dp_ftrl", {"privacy": {"adjacency": "replace_one"}}, "client"),
    ("dp_ftrl", {"privacy": {"adjacency": "add_remove"}}, "client"),
    ("flexible", {}, "client"),
    ("flexible", {"privacy": {"unit": "record"}}, "record"),
    ("flexible", {"privacy": {"aggregation": "local", "adjacency": "replace_one"}}, "client"),
    ("flexible", {"flexible": {"selection": "herd"}}, "client"),
    ("dp_sgd_generation", {}, "client"),
    (
        "dp_sgd_generation",
        {
            "dp_sgd_generation": {"training": {"epochs": 0.01, "batch_size": 50}},  # records are more than clients
            "privacy": {"unit": "record", "aggregation": "trusted"},
        },
        "record",
    ),
    ("ctcl", {}, "client"),
    (
        "ctcl",
        {
            "ctcl": {"topics": 4, "training": {"epochs": 0.01, "batch_size": 50}},  # records are more than clients
            "privacy": {"unit": "record", "aggregation": "trusted"},
        },
        "record",
    ),
    ("dp_rft", {}, "client"),
    ("dp_rft", {"dp_rft": {"nearest": 3}, "privacy": {"unit": "record", "aggregation": "trusted"}}, "record"),
    ("dp_prediction", {"privacy": {"aggregation": "trusted"}}, "client"),
    (
        "dp_prediction",
        {
            "dp_prediction": {"form": "logits", "texts_per_group": 2},
            "privacy": {"unit": "record", "aggregation": "trusted"},
        },
        "record",
    ),
    ("dp_ft", {"privacy": {"aggregation": "trusted"}}, "client"),
    (
        "dp_ft",
        {
            "dp_ft": {"form": "sft", "sft": {"epochs": 0.5, "batch_size": 40}},  # records are more than clients
            "privacy": {"unit": "record", "aggregation": "trusted"},
        },
        "record",
    ),
    ("dpprefsyn", {}, "client"),
    ("dpprefsyn", {"privacy": {"unit": "record", "aggregation": "trusted"}}, "record"),
    ("dpprefsyn", {"dpprefsyn": {**CLUSTERED, "projection": "private"}, "privacy": {"unit": "record"}}, "record"),
    ("dpprefsyn", {"dpprefsyn": {**CLUSTERED, "heads_by": "prompt"}}, "client"),
    ("dpprefsyn", {"dpprefsyn": {**CLUSTERED, **TRAINED}}, "client"),
    (
        "dpprefsyn",
        {
            "dpprefsyn": {**CLUSTERED, **TRAINED, "training": {"batch": 20, "epochs": 1.0}},
            "privacy": {"unit": "record"},
        },
        "record",
    ),
]


LONGEST = {"client": 60, "record": 14}  # words: a record that is a unit is one sample, a client's may be several


def written(rng: np.random.Generator, unit: str) -> str:
    return " ".join(rng.choice(WORDS, size=rng.integers(4, LONGEST[unit])))


def of_own_prompts(records: pd.DataFrame) -> pd.DataFrame:
    """Pairs, no two clients' to one prompt: the corpus is public, and held out are new prompts alone."""
    made = paired(records)
    return made.assign(prompt=made["prompt"] + " " + made["client_id"])


def corpus(unit: str, clients: int = 28) -> pd.DataFrame:
    """One to five records a client, of very different lengths; each is a pair of answers to a prompt as well."""
    rng = np.random.default_rng(0)
    owners = [f"person {i:02d}" for i in range(clients) for _ in range(rng.integers(1, 6))]
    texts = [written(rng, unit) for _ in owners]
    return of_own_prompts(pd.DataFrame({"client_id": owners, "text": texts, "label": None, "date": None}))


CHANGES = {f"the {place} {change}" for place in ("first", "middle", "last") for change in ("gone", "with other text")}
# All others of the first move up when it goes; the last of them, gone, moves nobody.
AT_EVERY_COMMIT = {"the first gone"}
OFTEN = {  # of an algorithm's first form, further changes that are seen together with that one
    "popri": {"the middle with other text"},
    # Of the sampled clients the first may be none; who is sampled follows from the first weights, and so from the CPU.
    "pe_sft": {"the middle gone", "the last gone"},
    "dp_sgd_generation": {"the middle gone", "the last gone"},
}


def neighbours(records: pd.DataFrame, trained: list[str], unit: str) -> dict[str, pd.DataFrame]:
    """The first, a middle and the last training client in the order of ids, gone, and with other text; or one record."""
    rng, found = np.random.default_rng(1), {}
    for place, one in {"first": trained[0], "middle": trained[len(trained) // 2], "last": trained[-1]}.items():
        rows = records.index[records["client_id"] == one]
        rows = rows[:1] if unit == "record" else rows
        found[f"the {place} gone"] = records.drop(index=rows).reset_index(drop=True)
        other = [written(rng, unit) for _ in range(len(records))]
        changed = records.assign(text=records["text"].where(~records.index.isin(rows), other))
        found[f"the {place} with other text"] = of_own_prompts(changed)
    return found


@cache
def first_world(number: int) -> World:
    algorithm, changes, unit = FORMS[number]
    return World(algorithm, corpus(unit), small(changes))


def forms() -> list[object]:
    """Every form and change; one change of each algorithm's first form at every commit, two of POPri's, else nightly."""
    first = {name: number for number, (name, *_) in reversed(list(enumerate(FORMS)))}
    often = {name: AT_EVERY_COMMIT | OFTEN.get(name, set()) for name in first}
    quick = [pytest.param(number, often[name], id=f"{name}-{number}") for name, number in first.items()]
    nightly = [
        pytest.param(number, changes, id=f"{name}-{number}-night", marks=pytest.mark.slow)
        for number, (name, *_) in enumerate(FORMS)
        for changes in [CHANGES - often[name] if first[name] == number else CHANGES]
    ]
    return [*quick, *nightly]


@pytest.mark.sampled(only=("popri", "pe-", "dp_sgd_generation"))
@pytest.mark.parametrize(("number", "changes"), forms())
def test_one_unit_moves_nothing_but_its_own_message(number: int, changes: set[str]) -> None:
    world, unit = first_world(number), FORMS[number][2]
    assert all(sent.total() > 3 for sent in world.messages.values()), "hardly anybody sent anything"
    trained = sorted(set(world.value("private_train")["client_id"]))
    holds(world, corpus(unit), trained, unit, changes)


def holds(world: World, records: pd.DataFrame, owners: list[str], unit: str, changes: set[str] = CHANGES) -> None:
    """Every neighbour of the world differs from it in one message of each release at most, and in one at all."""
    seen, others = 0, neighbours(records, owners, unit)
    assert changes <= others.keys()
    for change in sorted(changes):
        for release, (gone, come) in moved(world.messages, world.beside(others[change])).items():
            assert gone <= 1, f"{change}: {gone} messages of {release} are not as they were"
            assert come <= ("other" in change), f"{change}: {come} messages of {release} are new"
            seen += gone
    assert seen, "no change was seen at all"


def test_a_record_that_goes_moves_none_of_the_same_text_under_another_label() -> None:
    """Its twin must not be taken for it: codes of records once numbered equal texts, whatever their labels."""
    records = corpus("record").assign(label="sea")
    twins = records.drop_duplicates("client_id").assign(label="land")
    both = pd.concat([records, twins], ignore_index=True)
    told = {"labels": "sea land", "votes": "single_release"}  # votes are whole numbers, which no coin rounds
    world = World("wasp", both, small({"wasp": told, "privacy": {"unit": "record", "aggregation": "trusted"}}))
    holds(world, both, sorted(set(world.value("private_train")["client_id"])), "record", {"the first gone"})


EVALUATED = {  # what is measured beside next-token accuracy, of texts of two classes
    "popri": {},
    "dp_fedavg": {},
    "wasp": {"wasp": {"labels": "sea land"}, "task": {"labels": "sea land"}, "classification": {"measured": True}},
}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", EVALUATED)
def test_one_test_client_moves_nothing_but_its_own_message_of_the_evaluation(algorithm: str) -> None:
    private = {"corpus": {"public_texts": 40, "declared_public": False}, "partition": {"test_share": 0.4}}
    declared = {"privacy": {"epsilon": 8.0, "delta": 1e-3, "noise_seed": 7, "population": 28}}
    records = corpus("client").assign(label=lambda table: np.resize(["sea", "land", "land"], len(table)))
    world = World(algorithm, records, small(private | declared | EVALUATED[algorithm]), of_evaluation=True)
    assert any("accuracy" in release for release in world.messages)
    assert len(world.messages) >= 2 + ("classification" in EVALUATED[algorithm])
    holds(world, records, sorted(set(world.value("private_test")["client_id"])), "client")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("algorithm", ["popri", "pe", "dp_fedavg", "dp_ftrl"])
def test_one_object_of_the_default_corpus_moves_nothing_but_its_own_message(algorithm: str) -> None:
    """The default job as it is, but for the rounds: one is enough, and what it releases is the neighbour's too."""
    one_round = {"pe": {"rounds": 1}, "dp_fedavg": {"rounds": 1}, "dp_ftrl": {"rounds": 1, "separation": 1}}
    records = stdlib_records(conf_base(Corpus))
    world = World(algorithm, records, {"privacy": {"noise_seed": 7}, **one_round}, env=None)
    assert all(sent.total() > 2000 for sent in world.messages.values())
    holds(world, records, sorted(set(world.value("private_train")["client_id"])), "client")
