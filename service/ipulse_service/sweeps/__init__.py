"""Sweeps: many jobs of one spec with several values of some settings."""
