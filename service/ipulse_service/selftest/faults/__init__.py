"""The faults that the suite injects, one group a module."""
