"""Convolutions as Keras layers."""
