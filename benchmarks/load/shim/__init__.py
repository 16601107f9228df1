"""The bare job service that others are held against: FastAPI, a row in SQLite, a queue's message.

No authentication, no idempotency key, no outbox: a crash between the commit and the message loses
the job. SQLite has its own defaults, thus one fsync a commit. It needs nothing of IPUlse, so that
each queue can have an environment of its own.
"""
