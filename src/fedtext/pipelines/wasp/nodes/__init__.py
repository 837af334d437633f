"""WASP's nodes: thin, pure calls into fedtext.algorithms.wasp and the floors below it."""
