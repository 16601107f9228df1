"""Commands for the developers of ops and kernels."""
