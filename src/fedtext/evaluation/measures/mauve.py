"""MAUVE (Pillutla et al., NeurIPS 2021): area under the curve of divergence from what texts miss and what they add.

It is computed by its authors' package, an optional extra (`mauve-text`, GPLv3), on the sentence embeddings of
`models.encoder`, or as in its paper on features of a language model (`models.features`), as GPT-2: the state of a
text's last token in the last layer. The value depends on the features and on the sample size, so it compares within
one model and `HeldOut.size`, and with values in papers only where both are theirs.

MAUVE is estimated from clusters of texts, so few texts give an unreliable value: a set compared with itself has 0.75 in
some samples of 64 texts, and 1 in all samples of 100. Two samples of one distribution stay below 1 at any size, so
`mauve_floor` is reported beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Float32

from fedtext.evaluation.distribution import Bias, HeldOut
from fedtext.evaluation.measures.measure import Direction, Distance, Extra
from fedtext.models.language_model import context_length

if TYPE_CHECKING:
    from fedtext.models.language_model import LanguageModel

PACKAGE = Extra(module="mauve", package="mauve-text")


FEWEST = 100  # texts a side
LONGEST = 1024  # tokens of a text that features are of, as in the package
AT_ONCE = 16  # texts


def features_of(model: LanguageModel, texts: Sequence[str]) -> Float32[np.ndarray, "text dim"]:
    """Compute a causal language model's features of texts: the last layer's state of each text's last token.

    A text is cut to the model's context; an empty one has the state of the token that ends a text.
    """
    import torch

    loaded, tokenizer = model.load()
    longest = min(context_length(loaded) or LONGEST, LONGEST)
    rows = [tokenizer(text, add_special_tokens=False)["input_ids"][:longest] for text in texts]
    rows = [row or [tokenizer.eos_token_id or 0] for row in rows]
    found = []
    with torch.inference_mode():
        for first in range(0, len(rows), AT_ONCE):
            batch = rows[first : first + AT_ONCE]
            length = torch.tensor([len(row) for row in batch], device=loaded.device)
            ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in batch], batch_first=True)
            mask = torch.arange(ids.shape[1], device=loaded.device) < length[:, None]  # a state sees no later token
            out = loaded(input_ids=ids.to(loaded.device), attention_mask=mask.long(), output_hidden_states=True)
            found.append(out.hidden_states[-1][torch.arange(len(batch)), length - 1].float().cpu().numpy())
    return np.concatenate(found) if found else np.zeros((0, loaded.config.hidden_size), dtype=np.float32)


def with_mauve(
    document: Mapping[str, Any],
    model: LanguageModel,
    sets: Mapping[str, Sequence[str]],
    held_out: Sequence[str],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return the document of distances with MAUVE of `sets`, by their names, from a language model's features."""
    rows = {name: features_of(model, [*texts]) for name, texts in sets.items()}
    reference = HeldOut.of(features_of(model, [*held_out]), smallest_set=min(map(len, rows.values())), seed=seed)
    taken = {name: {**document["sets"][name], MAUVE.name: mauve_of(reference, own)} for name, own in rows.items()}
    floor = mauve_floor(reference)
    floors = {**document["floors"], **({} if floor is None else {MAUVE.name: floor._asdict()})}
    return {**document, "sets": taken, "floors": floors, "features": model.source}


def mauve_of(held_out: HeldOut, texts: Float[np.ndarray, "text dim"]) -> float | None:
    """Compute MAUVE in (0, 1] of `texts` and held-out text, the mean over the samples that FID uses.

    Returns:
        None where a sample has fewer than `FEWEST` texts.

    Raises:
        ValueError: the package is not installed, or there are fewer texts than `held_out.size`.
    """
    PACKAGE.validate_installed("mauve")
    return held_out.over_draws(_mauve, texts) if held_out.size >= FEWEST else None


def mauve_floor(held_out: HeldOut) -> Bias | None:
    """Compute MAUVE of held-out text with itself, which a perfect set would reach; None for too few texts."""
    return held_out.floor(_mauve) if held_out.size >= FEWEST else None


def _mauve(ours: Float[np.ndarray, "text dim"], theirs: Float[np.ndarray, "other dim"]) -> float:
    from mauve import compute_mauve

    return float(compute_mauve(p_features=theirs, q_features=ours, seed=0, verbose=False).mauve)


MAUVE = Distance(
    name="mauve",
    title="MAUVE",
    direction=Direction.HIGHER,
    value=mauve_of,
    floor=mauve_floor,
    fewest=FEWEST,
    needs=PACKAGE,
)
