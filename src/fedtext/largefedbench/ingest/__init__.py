"""Live ingest: polite, resumable pulls from public sources into raw pages that never change.

Reading order: `raw_store` (windows are what is pulled in one piece; a window's pages appear at once, with counts), one
module a source (`biorxiv`, `uk`, `canada`, `us`, `pubmed`, `openreview`: the pages of a window), `http_client` (one
request, repeated until the response is usable or refused), `pull` (a whole pull).

The clients store what the servers send, byte for byte, so they use HTTP themselves: Biopython and openreview-py return
parsed objects, and Biopython writes the key into the URL.
"""
