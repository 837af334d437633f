"""POPri (Hou et al., ICML 2025), Algorithms 1-5, as pure functions that the pipelines call.

| paper | here | meaning |
|---|---|---|
| K, J | `popri.prompts`, `popri.responses` | prompts per round, responses per prompt |
| T, t | `popri.rounds`, `round_number` | rounds |
| eta_k | column `prompt` | few-shot prompt k (Figure 5) |
| E_i | `federation.private_samples.PrivateSamples.features` | unit embeddings of client i's samples |
| E_syn,t | `candidate_embeddings` | unit embeddings of the K x J candidates |
| l | `popri.rejected_rank` | rank of the rejected response |
| `variant` | `popri.variant` | federated (Algorithm 1), or central (2, 3, 5: records, with a curator) |
| sigma | `Release.noise_stddev / sensitivity` | noise multiplier |

What differs from the paper, and why, is in docs/papers/popri.md. The clip is enforced and noise is added to the SUM
(Algorithms 2 and 3 add it to an unclipped mean). Scores are centred per prompt before clipping. One release of the
clients' mean features can serve all rounds (`witness_*`, `mean_embedding`).
"""
