"""Routes of agents: joining, claims, attempts and what they upload."""
