"""Words of made-up private texts: enough to distinguish them."""

WORDS = [
    "the",
    "port",
    "clerk",
    "filed",
    "a",
    "claim",
    "about",
    "late",
    "cargo",
    "and",
    "asked",
    "for",
    "its",
    "ledger",
]
