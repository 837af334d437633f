"""POPri (Hou et al., ICML 2025), Algorithms 1-5, as pure steps between the floors below.

| paper | here | meaning |
|---|---|---|
| K, J | `popri.prompts`, `popri.responses` | prompts a round, responses a prompt |
| T, t | `popri.rounds`, `round_number` | rounds |
| eta_k | column `prompt` | few-shot prompt k (Figure 5) |
| E_i | `federation.private_samples.PrivateSamples.features` | unit embeddings of client i's samples |
| E_syn,t | `candidate_embeddings` | unit embeddings of the K x J candidates |
| l | `popri.rejected_rank` | rank of the rejected response |
| `variant` | `popri.variant` | federated (Algorithm 1), or central (2, 3, 5: records, with a curator) |
| sigma | `Release.noise_stddev / sensitivity` | noise multiplier |

What differs from the paper, and why, stands in docs/papers.md: the clip is enforced and noise added to the SUM
(Algorithms 2 and 3 add it to an unclipped mean), scores are centred per prompt before clipping, and one release of the
clients' mean features can serve all rounds (`witness_*`, `mean_embedding`).
"""

from fedtext.algorithms.popri.ballots import score_by_ballots
from fedtext.algorithms.popri.budget import CLIP_NORM, planned_ledger, planned_query
from fedtext.algorithms.popri.checkpoint import chosen_adapter, next_state
from fedtext.algorithms.popri.cost import communication
from fedtext.algorithms.popri.features import feature_map, label_index
from fedtext.algorithms.popri.release import release_private_mean
from fedtext.algorithms.popri.steps import (
    draw_prompts,
    final_selection,
    matched_pool,
    preference_pairs,
    score_by_release,
)

__all__ = [
    "CLIP_NORM",
    "chosen_adapter",
    "communication",
    "draw_prompts",
    "feature_map",
    "final_selection",
    "label_index",
    "matched_pool",
    "next_state",
    "planned_ledger",
    "planned_query",
    "preference_pairs",
    "release_private_mean",
    "score_by_ballots",
    "score_by_release",
]
