"""Models of sweeps and their trials."""
