"""WASP (Zou et al., ICML 2025), as pure functions that the pipelines call.

Several public language models write texts of declared classes. Each private record votes for the texts of its class
that are nearest to it and for those that are furthest. The noisy sums of votes rank the texts from good to bad, and
measure which model wrote the good ones. The next prompts show good beside bad texts, and good models write more.

| paper | here | meaning |
|---|---|---|
| T, N | `wasp.rounds`, `wasp.texts` | rounds, texts in all |
| K, P_k | `models.plms` | the models |
| D, D_k | the table of candidates, its rows of a model | texts so far |
| H^n, H^f | `scores`, rows as `wasp.parts` | noisy similar (near) and dissimilar (far) votes |
| Q | `wasp.votes_per_record` | votes of either kind per record |
| S | `wasp.shown` | good and bad texts per class |
| w_k | `models.importance` | weight of a model |

Sensitivity: near and far votes are one vector per unit, clipped in L2 in code. A record's own norm is `ballot_norm` of
`voting.ballots`, so with the default clip no record's ballot is changed. What differs from the paper and its code, and
why, is in docs/papers/wasp.md.
"""
