"""The training loop and everything that a training step needs."""
