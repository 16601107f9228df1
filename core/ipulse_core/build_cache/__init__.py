"""Caches of compiled libraries and executables, with progress reports while they compile."""
