"""Says whether this machine has a sandbox."""
