"""DPPrefSyn ("Private Data Synthesis for Preference Alignment of Large Language Models", under review).

People compared two answers to a prompt, and their preferences are private. A linear scorer of answers is trained on
them under differential privacy. A generator answers public prompts, several times each, and the scorer selects the best
and the worst answer. The result is public pairs with private preferences, on which any model may be aligned.

| Algorithm 1 | here | meaning |
|---|---|---|
| phi, d_i | `generation.dialogue.embedded_answers`, `embedding.similarity` | embedding, difference of a pair |
| P, p | `Scorer.directions`, `dpprefsyn.dimensions` | projection |
| C_k, K | `clusters`, `dpprefsyn.heads` | clusters of differences |
| theta_k | `Scorer.heads` | weights of the scorers |
| h, p | `Scorer.mixture` | noisy shares of the clusters |
| L | `dpprefsyn.answers` | candidates per prompt |

Sensitivity: a pair's contribution is bounded by R, a public length, in code. A unit that holds several pairs sends
their mean, which is no longer. docs/decisions/0021-one-noised-sum-of-differences-by-default.md says what differs from
the paper, and why.
"""
