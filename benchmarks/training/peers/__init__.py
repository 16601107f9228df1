"""Adapters of other libraries; each runs in an environment of its own."""
