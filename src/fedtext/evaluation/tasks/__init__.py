"""Downstream tasks: each is one value, with what pipelines, parameters and reports need to know of it."""
