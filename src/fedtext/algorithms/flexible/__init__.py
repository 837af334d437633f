"""Flexible participation (anonymous, 2026, arXiv 2603.07027), as pure functions that the pipelines call.

Silos hold records, each of one control code. Strong silos train the generator together, each by its own DP-SGD. All
silos count their codes, with noise, and texts are written in proportion. Each record of a weak silo votes for the texts
of its code that are nearest to it, and texts are sampled without replacement in proportion to noisy votes.

| paper | here | meaning |
|---|---|---|
| C_s, C_r, M, N | `silos.strong`, the ledger's parties | strong and weak silos, and their numbers |
| C | `flexible.labels` | control codes |
| R, tau, B | `training.rounds`, `.local_steps`, `.batch_size` | rounds, local steps, expected records of a step |
| c_g, gamma, eta | `.clip_norm`, `.optimizer.learning_rate`, `.server_rate` | clip norm, rates of silo and server |
| P_i, s_j | `fedtext.algorithms.flexible.profile` | a silo's counts of codes, and texts of each code |
| s, r, K | `texts`, `kept`, `votes_per_record` | texts written, share that is kept, votes of a record |

Sensitivity: a record is of one code, so its part of the profile has norm 1; its K votes have norm sqrt(K). Neither has
a negative entry. What differs from the paper, and why, is in docs/papers/flexible.md.
"""
