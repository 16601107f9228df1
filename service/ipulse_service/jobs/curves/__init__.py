"""Curves of metrics: events as columns, a cache of them, and buckets."""
