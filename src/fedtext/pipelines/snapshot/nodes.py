"""Private records from a LargeFedBench snapshot."""

import pandas as pd

from fedtext.corpora.enrolment import taken_clients
from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from fedtext.system.refusal import RunRefusedError


def read_private_snapshot(corpus: Corpus, privacy: Privacy, out_dir: str) -> pd.DataFrame:
    """Records of one config of a snapshot below `out_dir`, verified first.

    About `corpus.max_clients` of the clients are taken by a hash of their id: a fair part of all dates and sources.
    """
    from fedtext.largefedbench.snapshot import read_snapshot, snapshot_directory

    if corpus.snapshot is None or corpus.config is None:
        raise RunRefusedError(
            "corpus.source 'snapshot' needs corpus.snapshot (a name below largefedbench.out_dir, or a directory) and "
            "corpus.config, for example corpus.snapshot=2025.1,corpus.config=congress"
        )
    records = read_snapshot(snapshot_directory(corpus.snapshot, out_dir), corpus.config)
    return taken_clients(records, corpus, privacy)
