"""Limits of what the documents of a user add to the service."""

MOST_CHANGES = 200  # of a list of changes between profiles
# Limits of the index of settings and metrics; every search reads its names.
MAX_NAME = 200  # characters of an indexed name
MAX_METRICS = 1_000  # of one job; the first that it reports
MAX_SETTINGS = 2_000  # of one job
