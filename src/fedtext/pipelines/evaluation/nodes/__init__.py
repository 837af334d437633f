"""Evaluation nodes: accuracies of the on-device model, distances of the texts."""
