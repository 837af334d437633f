"""WASP's figures, of released values alone: shares of the models, good and bad examples, balance of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from fedtext.reporting.figure_style import MUTED, note, plain_text, styled
from fedtext.system.missing import nullable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SHOWN = 2  # texts of a kind and class
LETTERS = 160  # of a text in a table's cell
NO_CLASS, EMPTY = "no class", "empty or written before"
ROW, LINE = 30, 16  # pixels: of a row of one line, and of each further one
CLASS_LETTERS, TEXT_LETTERS = 22, 60  # of a line in the table's cells, at the report's width


def model_shares(candidates: pd.DataFrame, state: Mapping[str, Any], examples: pd.DataFrame) -> Figure:
    """Draw each round's division of the texts among the models, and each model's good examples in the last vote."""
    from plotly.graph_objects import Figure

    names, rounds = sorted(state["weights"]), sorted(candidates["round"].unique())
    written = candidates.groupby(["round", "model"]).size().unstack(fill_value=0)
    shares = written.div(written.sum(axis=1), axis=0)
    good = examples.loc[examples["kind"] == "good", "model"].value_counts()
    figure = Figure()
    for name in names:
        figure.add_bar(
            x=rounds,
            y=shares.get(name, pd.Series(0.0, index=rounds)).reindex(rounds, fill_value=0.0),
            name=f"{plain_text(name)} ({good.get(name, 0)} good)",
            hovertemplate=f"round %{{x}}, {plain_text(name)}: %{{y:.0%}}<extra></extra>",
        )
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title_text="round", dtick=1)
    figure.update_yaxes(title_text="share of the round's texts", tickformat=".0%", range=[0, 1])
    styled(figure, "Which model wrote how much", legend=True)
    unseen = [str(entry["round"]) for entry in state["history"] if not entry["seen"]]
    lost = f"<br>Votes of round {', '.join(unseen)} were lost in their noise: equal shares." if unseen else ""
    return note(figure, f"In brackets: texts that the last vote called good.{lost}")


def example_table(examples: pd.DataFrame) -> Figure:
    """Draw a table of the first good and bad examples, class by class, each with its model."""
    from plotly.graph_objects import Figure, Table

    shown = examples.groupby(["label", "kind"], sort=False, dropna=False).head(SHOWN)
    columns = [_named(shown["label"]), shown["kind"], shown["model"], shown["text"].str.slice(0, LETTERS)]
    cells = [[plain_text(value) for value in column] for column in columns]
    figure = Figure(
        Table(
            header={"values": ["class", "called", "model", "text"], "align": "left"},
            cells={"values": cells, "align": "left", "height": ROW},
            columnwidth=[3, 1, 1, 8],
        )
    )
    lines = [
        max(-(-len(of) // CLASS_LETTERS), -(-len(text) // TEXT_LETTERS)) for of, *_, text in zip(*cells, strict=True)
    ]
    return styled(
        figure, "Texts that the last vote called good and bad", height=160 + sum(ROW + LINE * (n - 1) for n in lines)
    )


def class_balance(candidates: pd.DataFrame) -> Figure:
    """Draw how many texts each class has, by model; empty ones apart."""
    from plotly.graph_objects import Figure

    named = candidates.assign(label=_named(candidates["label"]))
    written = {plain_text(name): own for name, own in named[named["text"] != ""].groupby("model")}
    figure = Figure()
    for name, own in {**written, EMPTY: named[named["text"] == ""]}.items():
        counted = own["label"].value_counts().sort_index()
        colour = {"marker": {"color": MUTED}} if name == EMPTY else {}
        figure.add_bar(
            x=counted.to_numpy(), y=[plain_text(one) for one in counted.index], orientation="h", name=name, **colour
        )
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title_text="texts")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return styled(figure, "Texts of each class", legend=True, height=200 + ROW * named["label"].nunique())


def _named(labels: pd.Series) -> pd.Series:
    """Return classes in words, which a table can break into lines."""
    named = [str(NO_CLASS if label is None else label).replace("_", " ") for label in nullable(labels)]
    return pd.Series(named, index=labels.index, dtype=object)
