"""Live ingest: polite, resumable pulls from public sources into raw pages that never change.

Reading order: `windows` (what is pulled in one piece), one module a source (`biorxiv`, `uk`, `canada`, `us`, `pubmed`,
`openreview`: which pages a window has), `http_client` (one request, asked until it is answered well or refused),
`raw_store` (a window's pages appear at once, with counts), `pull` (all of it).

The clients store what the servers send, byte for byte, so they speak HTTP themselves: Biopython and openreview-py hand
back parsed objects, and Biopython writes the key into the URL.
"""
