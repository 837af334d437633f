"""Words of made-up private texts: enough to tell them apart, too few to say anything."""

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
