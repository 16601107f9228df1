"""The training of a spec."""
