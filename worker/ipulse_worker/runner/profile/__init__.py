"""Profiles: where the time, spikes and memory of an attempt went."""
