"""Commands about the results of jobs."""
