"""Routes of sweeps and of their trials."""
