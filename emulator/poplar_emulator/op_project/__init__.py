"""Projects of custom ops: a scaffold, and the comparison of an op with its NumPy reference."""
