"""Models of data sets and uploads of users."""
