"""How an agent registers with the service and releases the leases of dead agents."""
