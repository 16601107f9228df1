"""Commands about sweeps."""
