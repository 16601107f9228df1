"""The life of a job: submission, scheduling, leases, attempts, events and deletion."""
