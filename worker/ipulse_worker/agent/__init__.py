"""The Celery side of a worker: claim, supervise a runner process, report."""
