"""Data sets: their calls and resources."""
