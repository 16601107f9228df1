"""Which job an agent gets next, what a job needs of an agent, and why a job waits."""
