"""Samples in CSV files: their forms, and their rows."""
