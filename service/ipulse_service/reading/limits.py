"""Limits of what the reader returns."""

MOST_CHANGES = 200  # of a list of changes between profiles
