"""Public sources -> immutable raw pages."""

from typing import Any

from fedtext.params.ingest import Ingest


def pull_raw_pages(ingest: Ingest) -> dict[str, Any]:
    """Pulls the windows of one source that are asked for and not there yet; returns the counts."""
    from fedtext.largefedbench.ingest.pull import pull  # HTTP and XML libraries are for this run only

    return pull(ingest)
