"""Import of archives of jobs."""
