"""Before anything is released: who holds what, the ledger of all silos, and the weights to start from."""

from collections import Counter

import numpy as np
import pandas as pd

from fedtext.algorithms.flexible import budget
from fedtext.corpora.records import SILO_COLUMN
from fedtext.federation.silos import deal_of, parties_of, silo_name
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.privacy.ledger import Ledger, Plan
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError
from fedtext.training.adapters import adapter_weights, trainable_model

Units = dict[str, int]


def assign_silos(private_clients: pd.DataFrame, silos: Silos, privacy: Privacy) -> pd.DataFrame:
    """The silo of every client: `client_id`, `silo`. Of a client in several, a unit itself, the first by name.

    Raises:
        ValueError: records are the units, and a client has some in several silos: one of them would pay for another's.
    """
    by_column = SILO_COLUMN in private_clients and silos.groups != 1  # one silo of all has no use for a column
    if by_column and privacy.unit == "record" and _spans_silos(private_clients):
        raise InputError(
            "privacy.unit is record, and the silo column puts records of one client in several silos: give a client "
            "another id in each silo (corpus.client_column), or set privacy.unit=client"
        )
    ids = private_clients["client_id"].drop_duplicates().tolist()
    if by_column:  # not by the order of its rows, which another file may have otherwise
        held = private_clients.groupby("client_id")[SILO_COLUMN].min().loc[ids].tolist()
    else:
        held = [silo_name(one, silos.groups) for one in ids]
    return pd.DataFrame({"client_id": ids, "silo": held})


def _spans_silos(private_clients: pd.DataFrame) -> bool:
    """Whether a client has records in more than one silo."""
    places = private_clients[["client_id", SILO_COLUMN]].drop_duplicates()
    return bool(places["client_id"].duplicated().any())


def count_silos(private_silos: pd.DataFrame, private_train: pd.DataFrame, privacy: Privacy, silos: Silos) -> Units:
    """How many training units each silo of a public corpus holds, if nobody declares it; 0 for one that only tests."""
    if silos.units:
        return dict(silos.units)
    units = private_train if privacy.unit == "record" else private_train.drop_duplicates("client_id")
    silo = units["client_id"].map(private_silos.set_index("client_id")["silo"])
    counted = Counter(silo.tolist())
    return {name: counted[name] for name in sorted(set(private_silos["silo"]))}


def declare_silos(silos: Silos) -> Units:
    """How many training units each silo holds, by declaration; nothing private is read."""
    if not silos.units:
        raise InputError(
            "silos.units is empty, and the corpus is not a public one that may be counted: declare how many "
            "training units each silo holds, as silos.units: {north: 2000, south: 1500}"
        )
    return dict(silos.units)


def start_weights(generator: TrainableGenerator, flexible: Flexible) -> np.ndarray:
    """The untrained adapter, or all weights, as a vector."""
    return adapter_weights(trainable_model(generator, flexible.lora, seed=derived_seed(flexible.seed, "adapter")))


def open_flexible_ledger(
    units: Units,
    start: np.ndarray,
    encoder: Encoder,
    flexible: Flexible,
    silos: Silos,
    privacy: Privacy,
    corpus: Corpus,
    partition: Partition,
) -> Ledger:
    """An empty ledger of all silos, after checking that what is planned fits the budget of each."""
    parties = parties_of(units, silos, privacy.epsilon)
    ledger = budget.planned_ledger(parties, flexible, privacy, dim=start.size, embedding_dim=encoder.dim)
    return ledger.model_copy(update={"deal": deal_of(corpus, partition, silos)})


def begin_ledger(ledger: Ledger) -> tuple[Ledger, Plan]:
    """The opened ledger up to where texts are chosen, so that runs which choose in different ways train once; the plan.

    The first can be charged for training and profile alone.
    """
    begun = ledger.planned and tuple(one for one in ledger.planned if one.name in (budget.DP_SGD, budget.PROFILE))
    return ledger.model_copy(update={"planned": begun}), Plan(releases=ledger.planned)


def go_on_with_ledger(ledger: Ledger, plan: Plan) -> Ledger:
    """The ledger that was begun, with all that the run was opened for."""
    return ledger.model_copy(update={"planned": plan.releases})
