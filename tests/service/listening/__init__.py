"""Leases of agents while the service does not listen."""
