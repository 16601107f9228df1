"""Types, errors and build caches that every package shares: standard library only, Python 3.8."""
