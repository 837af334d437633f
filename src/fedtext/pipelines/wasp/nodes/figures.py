"""Figures of WASP's own: who wrote how much, which texts were called good and bad, how classes are balanced."""

from typing import Any

import pandas as pd
from plotly.graph_objects import Figure

from fedtext.reporting.figures_wasp import class_balance, example_table, model_shares


def draw_models(candidates: pd.DataFrame, state: dict[str, Any], examples: pd.DataFrame) -> Figure:
    """Each model's share of the texts of every round, the weights it was given, and whose texts were called good."""
    return model_shares(candidates, state, examples)


def draw_examples(examples: pd.DataFrame) -> Figure:
    """The first good and bad texts of every class, as the last vote had them."""
    return example_table(examples)


def draw_classes(candidates: pd.DataFrame) -> Figure:
    """Texts of each class, by model."""
    return class_balance(candidates)
