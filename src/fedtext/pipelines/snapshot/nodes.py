"""Private records from a LargeFedBench snapshot."""

from functools import partial

import pandas as pd

from fedtext.params.corpus import Corpus
from fedtext.refusal import RunRefusedError
from fedtext.seeding import derived_seed


def read_private_snapshot(corpus: Corpus, out_dir: str) -> pd.DataFrame:
    """Records of one config of a snapshot below `out_dir`, verified first.

    `corpus.max_clients` of them are those with the smallest hashes of their id: a fair part of all dates and sources.
    """
    from fedtext.corpora.largefedbench.snapshot import read_snapshot, snapshot_directory

    if corpus.snapshot is None or corpus.config is None:
        raise RunRefusedError(
            "corpus.source 'snapshot' needs corpus.snapshot (a name below largefedbench.out_dir, or a directory) and "
            "corpus.config, for example corpus.snapshot=2025.1,corpus.config=congress"
        )
    records = read_snapshot(snapshot_directory(corpus.snapshot, out_dir), corpus.config)
    if corpus.max_clients is None:
        return records
    hashes = records["client_id"].map(partial(derived_seed, 0, "max_clients"))
    return records.loc[hashes.nsmallest(corpus.max_clients).index].sort_index(ignore_index=True)
