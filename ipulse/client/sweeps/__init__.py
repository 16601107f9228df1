"""Sweeps: their calls and resources."""
