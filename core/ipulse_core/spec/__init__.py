"""Sizes, shapes and other values that follow from the fields of an experiment spec."""
