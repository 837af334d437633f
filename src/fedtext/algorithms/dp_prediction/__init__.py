"""Private prediction: InvisibleInk (arXiv 2507.02974) and its forerunner (Amin et al., 2024), for a curator.

Each text is written token by token. Every client of a group puts one text of its own into a prompt. What that changes
in the next token's logits is clipped, averaged and added to the public prompt's logits, and the token is drawn by the
exponential mechanism.

| InvisibleInk | here | meaning |
|---|---|---|
| B | `plan.group_size` | declared clients of a group |
| C | `federation.token_release.PlannedTokens.query.clip_norm` | clip of each logit's difference |
| tau | `sampler.temperature` | temperature |
| Top-k+ | `next_tokens.GroupReader.candidates`, by min-p | tokens that may be drawn, a public set |
| T | `sampler.max_new_tokens` | tokens of a text, paid for whether written or not |

What differs from it: the price is that of the planned tokens, not of the written ones, by exact composition of bounded
range. A client's group is drawn by the run's secret. Candidates are limited by min-p, not by a count.

What differs from Amin et al.: no sparse vector technique decides which tokens are public, so every token is paid for.
"""
