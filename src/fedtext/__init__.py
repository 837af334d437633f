"""Differentially private synthetic text from text that must not leave its owners."""

__version__ = "0.1.0"
