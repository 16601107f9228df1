"""Compiled libraries and executables that are kept from run to run."""
