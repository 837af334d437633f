"""Train an entity recogniser on one condition's texts and find the entities of held-out text.

Neither text has annotations, so the entities that a public tagger finds count as true on both sides. The recogniser
says whether a token begins an entity of some kind, continues one, or is outside (BIO tags). It is a logistic regression
on the token, its shape and its neighbours, or an encoder that is fine-tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.measures.downstream import ENTITIES_GIVEN, ENTITIES_RIGHT, ENTITIES_TRUE, ENTITY_F1
from fedtext.evaluation.measures.measure import Scored
from fedtext.evaluation.paired import evaluated_condition
from fedtext.models.tagger import Entity, Tagger, tokens_of
from fedtext.params.evaluation import Entities, EntityHead
from fedtext.training.classifier import Logistic
from fedtext.training.sequence_tagger import train_sequence_tagger

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder

Codes = Int[np.ndarray, " token"]
Recogniser = Callable[[Sequence[str]], list[Codes]]  # of the tokens of each text
OUTSIDE = 0  # kind k, from 0, begins with the code 1 + 2k and continues with 2 + 2k
EDGE = ""  # takes the place of the token before the first and after the last
Features = dict[str, str]


class EntitySpan(NamedTuple):
    """An entity as the tokens `first` to `last` of a text, with the number of its kind."""

    first: int
    last: int
    kind: int


def entity_scores(
    texts: Sequence[str],
    held_out: Sequence[str],
    tagger: Tagger,
    encoder: Encoder,
    entities: Entities,
    *,
    seed: int,
    label: str,
) -> dict[str, np.ndarray]:
    """Train on `texts` and count the entities found in `held_out`.

    Args:
        texts: A condition's texts.
        held_out: Texts of other clients.
        tagger: Gives the entities that count as true.
        encoder: The encoder that is fine-tuned; the regression does not use it.
        entities: The kind of recogniser, and how it is trained.
        seed: Seed of a fine-tuning.
        label: Name in progress bars.

    Returns:
        `entities_right`, `entities_true` and `entities_given` (found) of each held-out text and kind, and the number of
        training `texts`.
    """
    kinds = len(tagger.kinds)
    codes = _codes(texts, tagger)
    train = HEADS[entities.head] if len({code for own in codes for code in own.tolist()}) > 1 else _constant
    recogniser = train(texts, codes, 1 + 2 * kinds, encoder, entities, seed=seed, label=label)
    true = [set(entity_spans(codes)) for codes in _codes(held_out, tagger)]
    given = [set(entity_spans(codes)) for codes in recogniser(held_out)]
    right = [one & other for one, other in zip(true, given, strict=True)]
    counted = {ENTITIES_RIGHT: right, ENTITIES_TRUE: true, ENTITIES_GIVEN: given}
    scored = {name: _by_kind(found, kinds) for name, found in counted.items()}
    return {**scored, "texts": np.asarray(len(texts))}


def token_codes(text: str, entities: Sequence[Entity], kinds: Sequence[str]) -> Codes:
    """Return the BIO code of each token; a token in two entities belongs to the first."""
    spans, codes = tokens_of(text), []
    inside: Entity | None = None
    for start, end in spans:
        own = next((one for one in entities if one.start < end and start < one.end), None)
        if own is None:
            codes.append(OUTSIDE)
        else:
            codes.append(1 + 2 * kinds.index(own.kind) + (own == inside))
        inside = own
    return np.asarray(codes, dtype=np.int64)


def entity_spans(codes: Codes) -> list[EntitySpan]:
    """Return the entities that the codes mark; a continuation without a beginning of its kind starts one too."""
    found: list[EntitySpan] = []
    for place, code in enumerate(codes.tolist()):
        if code == OUTSIDE:
            continue
        kind, goes_on = divmod(code - 1, 2)
        if goes_on and found and found[-1].last == place - 1 and found[-1].kind == kind:
            found[-1] = found[-1]._replace(last=place)
        else:
            found.append(EntitySpan(place, place, kind))
    return found


def compare_entities(
    scored: Mapping[str, Scored], kinds: Sequence[str], head: EntityHead, drawn: Int[np.ndarray, " text"]
) -> dict[str, Any]:
    """Return the entity document that a report reads; it holds aggregates only.

    All conditions are evaluated on the same held-out texts.

    Returns:
        `conditions` (name -> `entity_f1`, `low`, `high`, number of training `texts`), `kinds`, `head` and `judged`.
    """
    table = {}
    for name, one in scored.items():
        found = ENTITY_F1.ratio(one, drawn)
        ends = {"low": max(found.low, 0.0), "high": min(found.high, 1.0)}
        table[name] = {ENTITY_F1.name: found.estimate, **ends, "texts": int(one["texts"])}
    return {"conditions": table, "kinds": list(kinds), "head": head, "judged": evaluated_condition(scored)}


def _codes(texts: Sequence[str], tagger: Tagger) -> list[Codes]:
    found = tagger.entities(texts)
    return [token_codes(text, entities, tagger.kinds) for text, entities in zip(texts, found, strict=True)]


def _constant(texts: Sequence[str], codes: Sequence[Codes], *_: Any, **__: Any) -> Recogniser:
    """Give every token the only code there is, or none where there is no token."""
    only = next((int(own[0]) for own in codes if own.size), OUTSIDE)
    return lambda given: [np.full(len(tokens_of(text)), only) for text in given]


def _regression(
    texts: Sequence[str], codes: Sequence[Codes], classes: int, encoder: Encoder, entities: Entities, **_: Any
) -> Recogniser:
    """Train a logistic regression on the features of tokens."""
    from sklearn.feature_extraction import DictVectorizer

    rows = [row for text in texts for row in _features(text)]
    words = DictVectorizer().fit(rows)
    learned = Logistic(words.transform, classes, entities.penalty).fit(rows, np.concatenate(codes))
    return lambda given: [learned.probabilities([*_features(text)]).argmax(axis=1) for text in given]


def _fine_tuned(
    texts: Sequence[str], codes: Sequence[Codes], classes: int, encoder: Encoder, entities: Entities, **more: Any
) -> Recogniser:
    """Fine-tune the encoder with a head on its tokens."""
    return train_sequence_tagger(encoder, texts, codes, classes, entities.fine_tuning, **more).codes


HEADS: dict[EntityHead, Callable[..., Recogniser]] = {"logistic": _regression, "fine_tuned": _fine_tuned}


def _features(text: str) -> Iterator[Features]:
    """Yield for each token its word, shape and ending, and the words and shapes beside it."""
    words = [EDGE, *(text[start:end] for start, end in tokens_of(text)), EDGE]
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        yield {
            "word": word.casefold(),
            "form": _form(word),
            "end": word[-3:].casefold(),
            "before": before.casefold(),
            "after": after.casefold(),
            "form before": _form(before),
            "form after": _form(after),
        }


def _form(word: str) -> str:
    """Return the word's shape, `Aa` for `London`, `0000` for `2024`: character classes, runs of letters shortened."""
    shape = "".join("A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    return "".join(c for c, before in zip(shape, "\0" + shape, strict=False) if c != before or c == "0")


def _by_kind(found: Sequence[set[EntitySpan]], kinds: int) -> Int[np.ndarray, "text kind"]:
    return np.asarray([np.bincount([one.kind for one in own], minlength=kinds) for own in found], dtype=np.int64)
