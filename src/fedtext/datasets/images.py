"""Figures as image files."""

from __future__ import annotations

from kedro_datasets import matplotlib

from fedtext.datasets.atomic import AtomicSave


class MatplotlibDataset(AtomicSave, matplotlib.MatplotlibDataset):  # type: ignore[misc]
    """One Matplotlib figure as an image file, saved all-or-nothing; Kedro-Viz previews it."""
