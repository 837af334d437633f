"""Records -> clients -> samples -> training, validation and test clients."""

import pandas as pd
from plotly.graph_objects import Figure

from fedtext.corpora.records import SILO_COLUMN, SPLIT_COLUMN, SPLITS, sample_records, spread_samples
from fedtext.corpora.splits import (
    sample_splits,
    validate_client_split,
    validate_held_out_count,
    validate_splits,
    with_splits,
)
from fedtext.federation.partition import partition
from fedtext.models.language_model import Tokenizer
from fedtext.params.corpus import Chunking, Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.reporting.figures_partition import partition_figure
from fedtext.system.missing import nullable
from fedtext.system.refusal import RunRefusedError


def assign_clients(private_records: pd.DataFrame, params: Partition, corpus: Corpus, silos: Silos) -> pd.DataFrame:
    """Assign records to clients: the client ids that `params.method` gives them."""
    if params.method != "natural" and not corpus.is_public:
        raise RunRefusedError(
            f"partition.method '{params.method}' deals all records out among made-up clients, so that who holds what "
            "depends on everybody's text: set partition.method=natural, or corpus.declared_public=true if the text is "
            "public",
            code="dealing-needs-public-text",
            parameter="partition.method",
            value=params.method,
        )
    if params.method != "natural" and params.split == "corpus" and SPLIT_COLUMN in private_records:
        raise RunRefusedError(
            f"partition.method '{params.method}' would mix the corpus's own training and test clients: set "
            "partition.split=hash to split the simulated clients anew, or partition.method=natural",
            code="dealing-mixes-splits",
            parameter="partition.method",
            value=params.method,
        )
    ids, labels = private_records["client_id"], nullable(private_records["label"])
    own = private_records if params.method == "natural" else private_records.drop(columns=SILO_COLUMN, errors="ignore")
    return own.assign(client_id=partition(ids.tolist(), [label or "" for label in labels], params, silos))


def assign_splittable_clients(
    private_records: pd.DataFrame, params: Partition, corpus: Corpus, silos: Silos, privacy: Privacy
) -> pd.DataFrame:
    """Assign records to clients, and to splits if records and not clients are split.

    A public corpus with too few for a split is refused here, before any work on the others.
    """
    validate_client_split(params, privacy)
    records = with_splits(assign_clients(private_records, params, corpus, silos), params)
    if corpus.is_public:
        validate_splits(records, params)
    return records


def chunk_private_records(
    private_clients: pd.DataFrame, chunk_tokenizer: Tokenizer, chunking: Chunking
) -> pd.DataFrame:
    """Cut every client's texts into samples: successive spans of `chunking.length` tokens of `chunk_tokenizer`."""
    return sample_records(private_clients, chunk_tokenizer.load(), chunking)


def chunk_public_records(
    public_records: pd.DataFrame, chunk_tokenizer: Tokenizer, chunking: Chunking, public_samples: int | None
) -> pd.DataFrame:
    """Cut public texts into samples likewise, from as many texts as `corpus.public_samples` allows."""
    return spread_samples(sample_records(public_records, chunk_tokenizer.load(), chunking), public_samples)


def split_samples(
    private_samples: pd.DataFrame, private_clients: pd.DataFrame, params: Partition
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Split samples into training, validation and test: by the corpus's splits, or a hash of client id or record."""
    split = sample_splits(private_samples, private_clients, params)
    samples = private_samples.drop(columns=SPLIT_COLUMN, errors="ignore")
    train, validation, test = (samples[split == name].reset_index(drop=True) for name in SPLITS)
    return train, validation, test


def split_samples_for_open_figures(
    private_samples: pd.DataFrame, private_clients: pd.DataFrame, params: Partition
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Split samples, and refuse too few held-out ones, which are measured without DP evaluation, before any release.

    Whether there are may depend on one client; but test clients have no protection in what follows either.
    """
    train, validation, test = split_samples(private_samples, private_clients, params)
    validate_held_out_count(len(test))
    return train, validation, test


def draw_partition(private_test: pd.DataFrame, params: Partition) -> Figure:
    """Draw client sizes and label shares of the held-out clients, coarse enough that none stands out."""
    labels = nullable(private_test["label"])
    settings = {"natural": "", "iid": "", "biased": "", "label_skew": f", {params.labels_per_client} labels a client"}
    described = params.method + settings.get(params.method, f", alpha {params.alpha:g}")
    return partition_figure(pd.factorize(private_test["client_id"])[0], labels, described=described)
