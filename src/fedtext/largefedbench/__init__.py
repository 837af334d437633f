"""LargeFedBench (POPri, appendix F), rebuilt: raw pages -> turns -> clients -> chunks -> a verified snapshot.

Reading order: `raw_pages` (bytes in, or one named error), `sources` (what a page of each source holds), `cleaning`
(what of a turn is spoken language), `clients` (a turn becomes a client, or is counted), `build` and `snapshot`
(files out).
"""
