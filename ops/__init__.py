"""LIF operators, and what executes them. NumPy only at import; TensorFlow where a file says so."""
