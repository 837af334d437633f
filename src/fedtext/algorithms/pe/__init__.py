"""Private Evolution for text, in both forms, as pure functions that the pipelines call.

PrE-Text (Hou et al., ICML 2024) queries clients; Aug-PE (Xie et al., ICML 2024) has a curator who holds the records.
Both repeat: every private sample votes for its nearest candidate, noise is added to the histogram, candidates with
many votes survive, and variations of the survivors are the next candidates.

| papers | here | meaning |
|---|---|---|
| T, t | `pe.rounds`, `round_number` | rounds |
| N_syn | `pe.population` | candidates per round; Aug-PE's N_syn x L |
| L | `variations` + 1 in Aug-PE | variations and the parent itself |
| H | `threshold` x noise deviation | threshold of a histogram cell |
| sigma | `Release.noise_stddev / sensitivity` | noise multiplier |
| RANDOM_API | `start.random_texts` | first candidates, from the generator |
| VARIATION_API | `variation.variations` | few-shot prompts, or mask filling |
| W_steps | `masks.passes` | mask-filling passes |

Sensitivity: a unit's ballot is its histogram of votes, clipped in L2 to `clip_norm` in code, so adding or removing a
unit moves the sum by at most `clip_norm`. A record's ballot is one vote, of norm 1. What differs from the papers and
their code, and why, is in docs/papers/private_evolution.md.
"""
