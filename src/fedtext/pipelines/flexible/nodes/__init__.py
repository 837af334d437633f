"""Flexible participation's nodes: thin, pure calls into fedtext.algorithms.flexible and the floors below it."""
