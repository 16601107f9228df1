"""The network of a spec."""
