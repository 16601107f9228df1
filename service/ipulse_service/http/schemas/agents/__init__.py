"""Models of agents, of their requests and of what they upload."""
