"""Imports networks of other simulators from NIR files."""
