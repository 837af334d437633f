"""Figures that Kedro-Viz shows."""

from __future__ import annotations

from kedro_datasets import plotly

from fedtext.datasets.atomic import AtomicSave


class PlotlyDataset(AtomicSave, plotly.JSONDataset):  # type: ignore[misc]
    """A Plotly figure as JSON, saved all-or-nothing; Kedro-Viz previews it."""
