"""Routes of users' data sets and of their uploads."""
