"""POPri's nodes: thin, pure calls into fedtext.algorithms.popri and the floors below it."""
