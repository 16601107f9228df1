"""Layers of neurons that users write as equations."""
