"""Attacks on the whole way from records to release, whose bound on epsilon stays below what is claimed.

`make audit` runs all of them and writes docs/audits.md.
"""
