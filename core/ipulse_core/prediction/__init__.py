"""Predictions for a training step on tiles, before anything is compiled."""
