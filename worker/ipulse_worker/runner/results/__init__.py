"""The files that a finished attempt leaves."""
