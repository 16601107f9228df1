"""A failed job once more, under its own id, and the jobs that waited for it."""
