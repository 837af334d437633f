"""The topics: clusters of public texts by cosine, and how many private samples are about each, counted with noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.ctcl.keywords import Keywords
from fedtext.embedding.clusters import spherical_centres
from fedtext.embedding.similarity import nearest
from fedtext.federation.federation import Federation
from fedtext.federation.query import Query
from fedtext.params.ctcl import Ctcl
from fedtext.privacy.ledger import Ledger
from fedtext.system.errors import InputError
from fedtext.voting.tally import Ballot, Vote, nearest_ballot, noised_tally

COUNTS = "counts"
Embeddings = Float[np.ndarray, "row dim"]


def found_topics(
    texts: Sequence[str], embeddings: Embeddings, params: Ctcl
) -> tuple[pd.DataFrame, Float[np.ndarray, "topic dim"]]:
    """Cluster public texts into `params.topics` topics, and name each by the keywords of its texts.

    Args:
        texts: Public texts.
        embeddings: Their unit vectors.
        params: Numbers of topics and keywords.

    Returns:
        A table with `keywords`, joined by commas, a row a topic; and the topics' unit vectors.

    Raises:
        ValueError: there are fewer public texts than topics.
    """
    if len(texts) < params.topics:
        raise InputError(
            f"ctcl.topics is {params.topics}, but there are {len(texts)} public samples: ask for fewer, or give more "
            "(corpus.public_samples)",
            code="more-topics-than-texts",
            parameter="ctcl.topics",
            value=params.topics,
        )
    centres = spherical_centres(embeddings.astype(np.float64), params.topics, params.seed).astype(np.float32)
    topic, known = topic_of(embeddings, centres), Keywords(texts)
    table = pd.DataFrame({"text": list(texts), "topic": topic})
    of_topic = [table.loc[table["topic"] == number, "text"].tolist() for number in range(params.topics)]
    return pd.DataFrame({"keywords": [joined(known.of(own, params.keywords)) for own in of_topic]}), centres


def topic_of(embeddings: Embeddings, topics: Float[np.ndarray, "topic dim"]) -> Int[np.ndarray, " row"]:
    """Return the nearest topic of every text, a function of that text alone."""
    return nearest(embeddings, topics)[0]


def joined(words: Sequence[str]) -> str:
    """Return keywords as a prompt has them."""
    return ", ".join(words)


class TopicCounts(Vote):
    """The question of a unit's topics: how many of its samples are nearest to each."""

    ctcl: Ctcl

    @property
    def ballot(self) -> Ballot:
        """Every sample votes for its topic."""
        return nearest_ballot(COUNTS, 1, self.ctcl.model_dump_json())


def noised_counts(
    query: Query, federation: Federation, topics: Float[np.ndarray, "topic dim"], params: Ctcl, ledger: Ledger
) -> tuple[Float[np.ndarray, " topic"], Ledger]:
    """Release the noisy sum of the units' counts of topics, each clipped to `ctcl.topic_clip`; charge the ledger."""
    asked = TopicCounts(ctcl=params, embeddings=topics, label=np.zeros(len(topics), dtype=np.int64))
    tally = noised_tally(query, asked, federation, ledger)
    return tally.scores[COUNTS], tally.ledger
