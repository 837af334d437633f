"""What mkdocs.yml runs while it builds the documentation site."""
