"""The search language: syntax, names, clauses, columns and suggestions."""
