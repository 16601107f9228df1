"""The bare job service that stands for Celery: FastAPI, a row in SQLite, a message.

It has no authentication, no idempotency key and no outbox: a crash between the commit and the
message loses the job. SQLite has its defaults: one fsync per commit.
"""
