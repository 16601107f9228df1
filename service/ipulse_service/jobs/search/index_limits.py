"""Limits of the index of settings and metrics: every request reads its names."""

MAX_NAME = 200  # characters of an indexed name
MAX_METRICS = 1_000  # of one job; the first that it reports
MAX_SETTINGS = 2_000  # of one job
