"""Routes of jobs, their events, files, metrics and searches."""
