"""WASP (Zou et al., ICML 2025), as pure steps between the floors below.

Several public language models write texts of declared classes. Each private record votes for the texts of its class
that are nearest to it and for those that are furthest. The sums, with noise, say which texts are good, which are bad,
and which model wrote the good ones. The next prompts show good beside bad, and good models write more.

| paper | here | meaning |
|---|---|---|
| T, N | `wasp.rounds`, `wasp.texts` | rounds, texts in all |
| K, P_k | `models.plms` | the models |
| D, D_k | the table of candidates, its rows of a model | texts so far |
| H^n, H^f | `scores`, rows as `wasp.parts` | noised near and far votes |
| Q | `wasp.votes_per_record` | votes of either kind that a record has |
| S | `wasp.shown` | good and bad texts a class |
| w_k | `models.importance` | weight of a model |

Sensitivity: near and far votes are one vector a unit, clipped in L2 in code. A record's own is `voting.ballots`'s
`ballot_norm`, so with the default clip no record's ballot is changed. What differs from the paper and its code, and
why, stands in docs/papers.md.
"""
