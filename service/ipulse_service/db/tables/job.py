"""Tables of jobs: what they wait for, their wake-ups and idempotency keys."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
)

from ipulse_service.db.tables.base import KEY, metadata

# Hidden states: no public id or list leads to these rows. The import of the job goes on, or it
# was deleted and its rows are being removed.
IMPORTING, DELETED = "importing", "deleted"
HIDDEN = (IMPORTING, DELETED)

jobs = Table(
    "jobs",
    metadata,
    Column("pk", KEY, primary_key=True),  # grows with time: the order of every list
    Column("id", String(64), nullable=False, unique=True),  # the public id
    Column("name", String(128), nullable=False),
    Column("state", String(32), nullable=False),  # changed by transitions only
    Column("reason", String(64)),
    Column("message", Text, nullable=False, default=""),
    Column("device", String(32), nullable=False),
    Column("spec", Text, nullable=False),  # canonical JSON, every default written out
    Column("spec_sha256", String(64), nullable=False),
    Column("metadata", Text, nullable=False),
    Column("attempt", Integer, nullable=False, default=0),  # number of the latest attempt
    Column("progress", Text),
    Column("summary", Text),
    Column("phase_ms", Text, nullable=False),  # time spent in earlier states, by phase
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("updated_at", BigInteger, nullable=False),
    Column("state_since", BigInteger, nullable=False),
    Column("queued_at", BigInteger, nullable=False, server_default="0"),  # position in queue
    Column("priority", Integer, nullable=False, server_default="0"),  # a higher one comes first
    Column("losses", Integer, nullable=False, server_default="0"),  # attempts that were lost
    Column("retried_at", BigInteger),  # when a user last retried it after a failure
    Column("retried_run_ms", BigInteger, nullable=False, server_default="0"),  # run before that
    Column("queue_seconds", Integer),  # limit of the wait for the first attempt; null: none
    Column("run_seconds", Integer),  # limit of the time with agents
    Column("total_seconds", Integer),  # limit of the time from submission to end
    Column("deadline_at", BigInteger),  # the earliest of these in its state; set by transitions
    Column("due_at", BigInteger),  # in retry_wait: when it is queued again
    Column("last_seq", BigInteger, nullable=False, default=0),
    Column("version", BigInteger, nullable=False, default=1),  # the ETag; +1 with every change
    Column("ipus", Integer, nullable=False, server_default="0"),  # that it attaches; 0: none
    Column("data_set", String(160)),  # KIND/NAME of files that its agent must have
    Column("requires", Text),  # JSON: requirements that its agent must meet
    Column("dataset_sha256", String(64), index=True),  # of the uploaded data that it needs
    Column("tags", Text, nullable=False, server_default="[]"),  # a sorted JSON array
    Column("group_name", String(80)),
    Column("notes", Text, nullable=False, server_default=""),  # Markdown
    Column("start_from", Text),  # JSON: the file of another job that it starts from
    Column("start_job", String(64), index=True),  # id of that job, which may be deleted
    Column("start_sha256", String(64), index=True),  # of that file, which is kept for it
    Column("finish_by", BigInteger),  # asked to finish: when it is cancelled instead
    Column("finish_reason", String(64)),  # of a job that was asked to finish
    Column("imported_at", BigInteger),  # when it was imported from an archive; null: it ran here
    Column("imported_sha256", String(64)),  # of that archive
    Index("ix_jobs_group_name", "group_name"),
    Index("ix_jobs_state_pk", "state", "pk"),
    Index("ix_jobs_state_device_pk", "state", "device", "pk"),
    Index(  # the head of the queue of a device is found in it
        "ix_jobs_queue",
        *("state", "device", "priority", "queued_at", "pk", "ipus", "data_set"),
        "state_since",
    ),
    Index("ix_jobs_deadline_at", "deadline_at"),
    Index("ix_jobs_created_at", "created_at"),
    sqlite_autoincrement=True,
)

# The jobs that a job waits for before it is queued.
job_dependencies = Table(
    "job_dependencies",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("needs_id", String(64), primary_key=True),
    Column("needs_pk", ForeignKey("jobs.pk"), index=True),  # null: deleted
    Column("needs_state", String(32)),  # of a deleted job
    Column("on_end", String(16), nullable=False),  # success, end or failure
    Column("state", String(16), nullable=False, index=True),  # waiting, met or broken
)

# Wake-ups that are not published yet, written in the transaction that queued the job.
outbox = Table(
    "outbox",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("job_pk", ForeignKey("jobs.pk"), nullable=False, index=True),
    sqlite_autoincrement=True,
)

# The text of a spec as its client submitted it, for people; jobs of the service have none.
submitted_specs = Table(
    "submitted_specs",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True, autoincrement=False),
    Column("form", String(8), nullable=False),  # yaml or json
    Column("text", Text, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("caller", String(64), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("fingerprint_rule", Integer, nullable=False, server_default="0"),  # 0: unknown
    Column("job_pk", ForeignKey("jobs.pk"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False, index=True),
)
