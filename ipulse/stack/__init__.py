"""The local stack: Redis, the service and its agents as child processes on one machine."""
