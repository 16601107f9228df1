"""Keras models of an IPUStrategy: options, checks of their data, and execution."""
