"""Private Evolution's nodes: thin, pure calls into fedtext.algorithms.pe and the floors below it."""
