"""A plan of a run, from public values alone: what each step has to do, what it takes here, and what does not fit.

- `rules` says of each node that computes with a model what it has to do (`work`).
- `sizes` are those of a model, by its architecture.
- `pace` measures this machine for a few seconds, and gives the seconds of some work.
- `memory` gives the bytes of some work.
- `plan` puts them together, and `wording` says it.
"""
