"""The equations of sparse LIF networks in float64 NumPy: the reference implementation."""
