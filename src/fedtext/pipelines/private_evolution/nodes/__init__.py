"""Private Evolution's nodes: thin, pure calls into fedtext.algorithms.private_evolution and the floors below it."""
