"""Catalog types: tables, documents, figures, arrays and pydantic models, saved all-or-nothing; models.

Named in the catalog by their modules (`type: fedtext.datasets.files.ParquetDataset`), so that a catalog imports only
the libraries that it uses.
"""
