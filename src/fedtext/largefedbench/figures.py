"""Figures of a benchmark's public text: tokens per client (POPri's Figure 9), a map of its speeches (Figure 10).

Their data are read from a snapshot: the tokens of every client, and a fair sample of the speeches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fedtext.largefedbench.snapshot import provenance, read_table
from fedtext.reporting.figure_style import CONTROL, note, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


# The paper's colours: US purple, UK orange, Canada green.
COUNTRY_COLOURS = {"US": "#7b3fa0", "GB": "#e07b00", "CA": "#2e8b57"}
COUNTRY_NAMES = {"US": "United States", "GB": "United Kingdom", "CA": "Canada"}
TOKEN_EDGES = 2.0 ** np.arange(0, 17)
MIN_POINTS = 5


def tokens_per_client_by_config(tokens: Mapping[str, Int[np.ndarray, " client"]]) -> Figure:
    """Return the share of each config's clients by number of tokens, on doubling edges; the exact text is public."""
    from plotly.graph_objects import Bar, Figure

    edges = TOKEN_EDGES[: 1 + max(int(np.searchsorted(TOKEN_EDGES, max(n.max() for n in tokens.values()))), 1)]
    labels = ["1", *(f"{low:.0f}-{high - 1:.0f}" for low, high in pairwise(edges[1:]))]
    figure = Figure()
    for config, numbers in tokens.items():
        share = np.histogram(numbers, np.append(edges[:-1], np.inf))[0] / len(numbers)
        named = f"{config}: {len(numbers):,} clients, median {np.median(numbers):.0f}"
        figure.add_trace(Bar(x=labels, y=share, name=named))
    figure.update_xaxes(title_text="tokens of a client", type="category")
    figure.update_yaxes(title_text="share of clients", tickformat=".0%")
    return styled(figure, "Tokens per client", legend=True)


def speech_map(
    embeddings: Float[np.ndarray, "speech dim"], countries: Sequence[str], *, seed: int, described: str
) -> Figure:
    """Return a t-SNE map of speeches, one dot each, coloured by country; `described` says which speeches they are."""
    from plotly.graph_objects import Figure

    points = tsne(embeddings, seed=seed)
    figure = Figure()
    for country in sorted(set(countries)):
        chosen = np.array([one == country for one in countries])
        figure.add_scatter(
            x=points[chosen, 0],
            y=points[chosen, 1],
            mode="markers",
            name=f"{COUNTRY_NAMES.get(country, country or 'none')} ({chosen.sum():,})",
            marker={"size": 4, "opacity": 0.7, "color": COUNTRY_COLOURS.get(country, CONTROL)},
        )
    figure.update_xaxes(showticklabels=False, showgrid=False)
    figure.update_yaxes(showticklabels=False, showgrid=False)
    styled(figure, "Speeches by country", height=560, legend=True).update_layout(legend_itemsizing="constant")
    return note(figure, f"t-SNE of {described}.")


def tsne(embeddings: Float[np.ndarray, "speech dim"], *, seed: int) -> Float[np.ndarray, "speech 2"]:
    """Return the t-SNE map of unit vectors, started from their first two principal components; 0 for too few points."""
    from sklearn.manifold import TSNE

    if len(embeddings) < MIN_POINTS:
        return np.zeros((len(embeddings), 2))
    perplexity = min(30.0, (len(embeddings) - 1) / 3)
    points: np.ndarray = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(embeddings)
    return points


class Speeches(NamedTuple):
    """Texts and the countries in which they were spoken, in the same order."""

    texts: list[str]
    countries: list[str]


def tokens_of_clients(directory: Path | str) -> dict[str, Int[np.ndarray, " client"]]:
    """Return the number of tokens of every client, by config (POPri's Figure 9)."""
    return {
        config: read_table(directory, config, "clients", columns=["n_tokens"], check=False)["n_tokens"].to_numpy()
        for config in provenance(directory)["configs"]
    }


def sample_speeches(directory: Path | str, number: int, *, config: str = "congress") -> Speeches:
    """Return at most `number` clients of `config`, by lowest id hash, so that the sample stays as the snapshot grows.

    Countries have equal parts as far as they have clients, so that a small one is on the map too.
    """
    if config not in provenance(directory)["configs"]:
        return Speeches([], [])
    table = read_table(directory, config, "clients", columns=["client_id", "country", "text"], check=False)
    ids, countries, texts = (table[name].to_pylist() for name in ("client_id", "country", "text"))
    order = sorted(range(len(ids)), key=lambda row: hashlib.sha256(ids[row].encode()).digest())
    rank: dict[str, int] = {}
    place = []
    for row in order:
        rank[countries[row]] = rank.get(countries[row], 0) + 1
        place.append((rank[countries[row]], row))
    chosen = [row for _, row in sorted(place, key=lambda one: one[0])[:number]]
    return Speeches([texts[row] for row in chosen], [countries[row] for row in chosen])
