"""Neurons that users write as equations: read as data, never run as code."""
