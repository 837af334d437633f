"""Private records from a LargeFedBench snapshot."""

import pandas as pd

from fedtext.params.corpus import Corpus
from fedtext.refusal import RunRefusedError


def read_private_snapshot(corpus: Corpus, out_dir: str) -> pd.DataFrame:
    """Records of one config of a snapshot below `out_dir`, verified first; at most `corpus.max_clients` clients."""
    from fedtext.corpora.largefedbench.manifest import SnapshotError
    from fedtext.corpora.largefedbench.snapshot import read_snapshot, snapshot_directory

    if corpus.snapshot is None or corpus.config is None:
        raise RunRefusedError(
            "corpus.source 'snapshot' needs corpus.snapshot (a name below largefedbench.out_dir, or a directory) and "
            "corpus.config, for example corpus.snapshot=2025.1,corpus.config=congress"
        )
    try:
        records = read_snapshot(snapshot_directory(corpus.snapshot, out_dir), corpus.config)
    except SnapshotError as error:
        raise RunRefusedError(str(error)) from None
    return records if corpus.max_clients is None else records.head(corpus.max_clients)
