"""NumPy reference implementations of the sparse ops."""
