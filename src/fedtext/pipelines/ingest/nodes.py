"""Public sources -> immutable raw pages."""

from typing import Any

from fedtext.params.ingest import Ingest
from fedtext.refusal import RunRefusedError


def pull_raw_pages(ingest: Ingest) -> dict[str, Any]:
    """Pulls the windows of one source that are asked for and not there yet; returns the counts."""
    from fedtext.corpora.ingest.errors import RefusedError
    from fedtext.corpora.ingest.pull import pull  # HTTP and XML libraries are for this run only

    try:
        return pull(ingest)
    except RefusedError as refusal:
        raise RunRefusedError(str(refusal)) from None
