"""The tables. Times are milliseconds since 1970 UTC by the steady clock; JSON is text."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from ipulse_core.limits import DEFAULT_POOL
from ipulse_core.states import TERMINAL

# Every constraint has a name, so that migrations can refer to it on any database.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite assigns row numbers only to a column declared INTEGER.
KEY = BigInteger().with_variant(Integer(), "sqlite")

# Offsets of the database's clock, which may be set; see `steady_clock`.
clock_eras = Table(
    "clock_eras",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("ahead_ms", BigInteger, nullable=False),  # stored times minus the clock, from then on
    Column("read_at", BigInteger, nullable=False),  # a time that has passed
    Column("boot_id", String(64)),  # of the machine that stored it, if that has the database
    Column("booted_ms", BigInteger),  # from its start to `read_at`
    sqlite_autoincrement=True,
)

# A row that is written to test whether the database accepts writes.
trials = Table(
    "trials",
    metadata,
    Column("pk", Integer, primary_key=True),
    Column("tried_at", BigInteger, nullable=False),
)

# Names of projects and principals never change, so that other rows have them as they are.
DEFAULT_PROJECT, OWNER = "default", "owner"  # what existed before belongs to these
NAME = String(64)

projects = Table(
    "projects",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("description", Text, nullable=False, server_default=""),
    Column("is_public", Boolean, nullable=False, server_default=false()),  # everybody reads it
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", NAME, nullable=False, server_default=OWNER),
)

# People, and service accounts of programs.
principals = Table(
    "principals",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("kind", String(16), nullable=False),  # user or service
    Column("full_name", String(128), nullable=False, server_default=""),
    Column("project", NAME),  # of a service account; null: a person
    Column("is_admin", Boolean, nullable=False, server_default=false()),
    Column("issuer", String(255)),  # with the subject, who it is at a provider
    Column("subject", String(255)),
    Column("is_disabled", Boolean, nullable=False, server_default=false()),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", NAME, nullable=False, server_default=OWNER),
    Index("ix_principals_subject", "issuer", "subject", unique=True),
)

members = Table(
    "members",
    metadata,
    Column("project", NAME, primary_key=True),
    Column("principal", NAME, primary_key=True, index=True),
    Column("role", String(16), nullable=False),  # see access.py
)

# Roles of people by groups of the provider with which they sign in, as of their last sign-in.
group_members = Table(
    "group_members",
    metadata,
    Column("project", NAME, primary_key=True),
    Column("principal", NAME, primary_key=True, index=True),
    Column("role", String(16), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# Limits of projects and people, and their shares; see `quotas.store`.
quotas = Table(
    "quotas",
    metadata,
    Column("project", NAME, primary_key=True),  # "": in all projects
    Column("principal", NAME, primary_key=True),  # "": of all members together
    Column("name", String(32), primary_key=True),
    Column("value", BigInteger, nullable=False),
)

# Device time of attempts that have ended, by the month of their end; see `quotas.usage`.
usage = Table(
    "usage",
    metadata,
    Column("project", NAME, primary_key=True),
    Column("owner", NAME, primary_key=True),
    Column("device", String(32), primary_key=True),
    Column("month", String(7), primary_key=True),  # such as 2026-01, in UTC
    Column("outcome", String(16), primary_key=True),  # succeeded, stopped, failed or lost
    Column("device_ms", BigInteger, nullable=False),
    Column("attempts", BigInteger, nullable=False),
)

# Device time of each owner in each project, of which half is forgotten after a half-life.
fair_usage = Table(
    "fair_usage",
    metadata,
    Column("project", NAME, primary_key=True),
    Column("owner", NAME, primary_key=True),
    Column("device_ms", Double, nullable=False),  # as of `at`
    Column("at", BigInteger, nullable=False),
)

# Issued tokens, in addition to the two in files; only the digest of a secret is stored.
tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("role", String(32), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("agent", String(128)),  # the only agent that may use it; null: not an agent's own
    Column("principal", NAME, index=True),  # it acts for this one; null: an agent's
    Column("scopes", String(64), nullable=False, server_default="read submit"),  # see access.py
    Column("project", NAME),  # the only one in which it is valid; null: all of its principal
    Column("last_used_at", BigInteger),  # to the minute; null: never
    Column("created_by", NAME, nullable=False, server_default=OWNER),
)

# Who did what, each entry with a digest over itself and the one before.
audit = Table(
    "audit",
    metadata,
    Column("number", KEY, primary_key=True, autoincrement=False),  # from 1 without gaps
    Column("time", BigInteger, nullable=False),
    Column("actor", NAME, nullable=False),
    Column("token_id", String(32)),  # null: a token in a file
    Column("request_id", String(64), nullable=False),
    Column("action", String(32), nullable=False),  # such as job.cancel
    Column("target_kind", String(32), nullable=False),
    Column("target", String(128), nullable=False, index=True),  # id or name
    Column("project", NAME),
    Column("outcome", String(16), nullable=False),  # ok or denied
    Column("detail", Text, nullable=False),
    Column("previous_sha256", String(64), nullable=False),
    Column("sha256", String(64), nullable=False),
)

# Sessions of browsers, and the one-time codes that are traded for one.
web_sessions = Table(
    "web_sessions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("kind", String(16), nullable=False),  # session or code
    Column("sha256", String(64), nullable=False),
    Column("name", String(128), nullable=False),  # name and role of the caller who signed in
    Column("role", String(32), nullable=False),
    Column("token_id", String(32)),  # of the token behind it; null: a token in a file
    Column("token_mark", String(64), nullable=False),  # changes with the token in the file
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# Codes of programs that sign in, and what a person says about them.
device_codes = Table(
    "device_codes",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("user_code", String(16), nullable=False, unique=True),
    Column("client", String(128), nullable=False),  # what the program says about its machine
    Column("scopes", String(64), nullable=False),
    Column("principal", NAME),  # who has answered; null: nobody yet
    Column("project", NAME),  # the only one in which the token of that person is valid
    Column("is_allowed", Boolean, nullable=False, server_default=false()),
    Column("polled_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# Registered agents.
agents = Table(
    "agents",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("device_kinds", Text, nullable=False),  # a JSON array
    Column("quarantined", Text, nullable=False, server_default="[]"),  # not used now
    Column("quarantine_reasons", Text, nullable=False, server_default="{}"),  # JSON: by kind
    # JSON: what it has, why it lacks the rest, and packages of neurons that the service signed off.
    Column("capabilities", Text, nullable=False, server_default="{}"),
    Column("seen_at", BigInteger, nullable=False),
    Column("stopped_at", BigInteger),  # null: it did not sign off after its last registration
    Column("labels", Text, nullable=False, server_default="{}"),  # a JSON object
    Column("version", String(64), nullable=False, server_default=""),
    Column("joined_at", BigInteger),  # null: it belongs to the service's machine
    Column("join_token_id", String(32)),
    Column("instance_sha256", String(64)),  # of a secret of its machine
    Column("sessions", Text, nullable=False, server_default="[]"),  # the latest one comes last
    Column("draining_at", BigInteger),  # null: it may claim jobs
    Column("drain_until", BigInteger),  # then it gives back a job that it still holds
    Column("host", String(255), nullable=False, server_default=""),  # empty: not known
    Column("ipus", Text, nullable=False, server_default="{}"),  # JSON: number by kind, where known
    Column("data_sets", Text),  # a JSON array of KIND/NAME; null: not known
    Column("cached", Text, nullable=False, server_default="[]"),  # JSON: digests of uploaded data
    Column("since", BigInteger, nullable=False, server_default="0"),  # present without a gap
    Column("fault_reason", String(64)),  # why it can run no job now; null: it can
    Column("fault_message", Text),
    Column("fault_since", BigInteger),
)

# Sets of agents, and who may use them; see `agents.pools`.
pools = Table(
    "pools",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("description", Text, nullable=False, server_default=""),
    Column("labels", Text, nullable=False, server_default="{}"),  # a JSON object
    Column("agents", Text, nullable=False, server_default="[]"),  # a JSON array of names
    Column("projects", Text),  # a JSON array of names; null: all
    Column("preemption", String(16), nullable=False, server_default="never"),
    Column("created_at", BigInteger, nullable=False, server_default="0"),
    Column("created_by", NAME, nullable=False, server_default=OWNER),
)

# Agents of pools that run only the jobs of one project for a while; see `agents.reservations`.
reservations = Table(
    "reservations",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("pool", NAME, nullable=False),
    Column("project", NAME, nullable=False),
    Column("agents", Integer, nullable=False),
    Column("starts_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", NAME, nullable=False),
)

# Tokens with which agents of other machines join.
join_tokens = Table(
    "join_tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("labels", Text, nullable=False),  # a JSON object
    Column("uses_left", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# No public id or list leads to rows in these states. The import of the job goes on, or it
# was deleted and its rows are being removed.
IMPORTING, DELETED = "importing", "deleted"
HIDDEN = (IMPORTING, DELETED)
ENDED = tuple(sorted(state.value for state in TERMINAL))  # final states, as rows have them

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
    Column("pool", NAME, nullable=False, server_default=DEFAULT_POOL),  # of its agent
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
    Column("project", NAME, nullable=False, server_default=DEFAULT_PROJECT),
    Column("owner", NAME, nullable=False, server_default=OWNER),  # who may change it
    Column("created_by", NAME, nullable=False, server_default=OWNER),
    Index("ix_jobs_group_name", "group_name"),
    Index("ix_jobs_state_pk", "state", "pk"),
    Index("ix_jobs_state_device_pk", "state", "device", "pk"),
    Index(  # the head of the queue of a device is found in it
        "ix_jobs_queue",
        *("state", "device", "priority", "queued_at", "pk", "ipus", "data_set"),
        "state_since",
    ),
    Index("ix_jobs_deadline_at", "deadline_at"),
    Index("ix_jobs_project_pk", "project", "pk"),
    Index("ix_jobs_created_at", "created_at"),
    sqlite_autoincrement=True,
)

# In it the first job of each owner is found, and the first that need few IPUs.
Index(
    "ix_jobs_turns",
    *(jobs.c[name] for name in ("state", "device", "pool", "project", "owner")),
    jobs.c.priority.desc(),
    *(jobs.c.queued_at, jobs.c.pk, jobs.c.ipus),
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

attempts = Table(
    "attempts",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("job_pk", ForeignKey("jobs.pk"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("agent", String(128), nullable=False),
    Column("fence_sha256", String(64), nullable=False),  # the token is not stored
    Column("lease_expires_at", BigInteger, nullable=False),
    Column("next_event", BigInteger, nullable=False, default=1),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),  # null: this attempt holds the job
    Column("reason", String(64)),
    Column("message", Text, nullable=False, default=""),
    Column("summary", Text),
    Column("protocol", Integer, nullable=False, server_default="0"),  # of its agent; 0: unknown
    Column("preempted_for", String(64)),  # id of the job for which it is to stop
    # Which one renewed the lease last; "": the only one of a database that is not shared.
    Column("replica", String(32), nullable=False, server_default=""),
    UniqueConstraint("job_pk", "number"),
    Index("ix_attempts_fence_sha256", "fence_sha256"),
    Index("ix_attempts_finished_at_lease_expires_at", "finished_at", "lease_expires_at"),
)

events = Table(
    "events",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("time", BigInteger, nullable=False),
    Column("attempt", Integer),  # null: an event outside of attempts
    Column("kind", String(32), nullable=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,  # stored in the order in which they are read
)

# The changes of all jobs in one sequence; see jobs/activity.py.
activity = Table(
    "activity",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("xid", BigInteger, nullable=False),  # the transaction, in PostgreSQL
    Column("time", BigInteger, nullable=False),
    Column("job_pk", KEY, nullable=False),  # with `seq` an event, which may have been deleted
    Column("seq", BigInteger, nullable=False),
    Index("ix_activity_xid_pk", "xid", "pk"),
    sqlite_autoincrement=True,
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("job_pk", ForeignKey("jobs.pk"), nullable=False, index=True),
    Column("attempt_pk", ForeignKey("attempts.pk"), nullable=False),
    Column("name", String(128), nullable=False),
    Column("role", String(32), nullable=False),
    Column("media_type", String(128), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("attempt_pk", "name"),
    sqlite_autoincrement=True,
)

# Data sets of users. A name keeps its row, so that numbers of versions are never used again.
datasets = Table(
    "datasets",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("name", String(128), nullable=False),
    Column("last_version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("project", NAME, nullable=False, server_default=DEFAULT_PROJECT),
    Column("owner", NAME, nullable=False, server_default=OWNER),  # who may change it
    Column("created_by", NAME, nullable=False, server_default=OWNER),
    UniqueConstraint("project", "name"),
    sqlite_autoincrement=True,
)

dataset_versions = Table(
    "dataset_versions",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("dataset_pk", ForeignKey("datasets.pk"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("sha256", String(64), nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),  # see version_states.py
    Column("kind", String(32)),  # of data in specs; null: not known
    Column("facts", Text),  # JSON; null: not known
    Column("refusal", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("checked_at", BigInteger),
    Column("checks", Integer, nullable=False, server_default="0"),  # that have begun
    Column("claimed_at", BigInteger),  # when a replica last said that it checks the version
    Column("token", String(128)),  # who added it; checks take turns by person
    UniqueConstraint("dataset_pk", "number"),
    Index("ix_dataset_versions_state", "state", "pk"),
    sqlite_autoincrement=True,
)

# A few samples of each version, to look at.
dataset_samples = Table(
    "dataset_samples",
    metadata,
    Column("version_pk", ForeignKey("dataset_versions.pk"), primary_key=True),
    Column("sample", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),  # JSON
)

# Files of users on their way into the store, or there and not used yet.
uploads = Table(
    "uploads",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("caller", String(128), nullable=False),  # only this principal may use it
    Column("project", NAME, nullable=False, server_default=DEFAULT_PROJECT),
    Column("purpose", String(32), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("completed_at", BigInteger),  # null: bytes are missing
)

ops = Table(
    "ops",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("name", String(64), nullable=False),
    Column("sha256", String(64), nullable=False),  # of the package
    Column("size", BigInteger, nullable=False),
    Column("manifest", Text, nullable=False),  # op.json
    Column("created_at", BigInteger, nullable=False),
    Column("pushed_by", String(128)),  # name of the token; null: an older version stored it
    Column("project", NAME, nullable=False, server_default=DEFAULT_PROJECT),
    Column("owner", NAME, nullable=False, server_default=OWNER),  # who may change it
    Column("created_by", NAME, nullable=False, server_default=OWNER),
    UniqueConstraint("sha256", "project"),
    sqlite_autoincrement=True,
)

job_ops = Table(
    "job_ops",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("sha256", String(64), primary_key=True, index=True),  # of the package, which is kept
    Column("name", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
)

# Names of settings and metrics; the index has their ids.
index_names = Table(
    "index_names",
    metadata,
    Column("id", KEY, primary_key=True),
    Column("kind", String(8), nullable=False),  # setting or metric
    Column("name", String(200), nullable=False),
    UniqueConstraint("kind", "name"),
    sqlite_autoincrement=True,
)

# The flat settings of each job's spec, for searches and columns.
job_settings = Table(
    "job_settings",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("name_id", ForeignKey("index_names.id"), primary_key=True),
    Column("number", Double),  # null: the value is no number
    Column("value", Text, nullable=False),  # JSON
    sqlite_with_rowid=False,
)

# The metrics of each job's epochs, for searches and columns.
job_metrics = Table(
    "job_metrics",
    metadata,
    Column("job_pk", ForeignKey("jobs.pk"), primary_key=True),
    Column("name_id", ForeignKey("index_names.id"), primary_key=True),
    Column("kept", Double, nullable=False),  # of the kept epoch; before the end, of the last one
    Column("smallest", Double, nullable=False),
    Column("largest", Double, nullable=False),
    Column("last", Double, nullable=False),
    Column("smallest_epoch", BigInteger, nullable=False),
    Column("largest_epoch", BigInteger, nullable=False),
    Column("last_epoch", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

sweeps = Table(
    "sweeps",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),  # also the group of its jobs
    Column("name", String(128), nullable=False),
    Column("config", Text, nullable=False),  # canonical JSON
    Column("fingerprint", String(64), nullable=False),  # of the config as it was created
    Column("fingerprint_rule", Integer, nullable=False, server_default="0"),  # 0: unknown
    Column("caller", String(64), nullable=False),  # who created it
    Column("key", String(255)),  # the Idempotency-Key of its creation
    Column("state", String(32), nullable=False),
    Column("reason", String(64)),
    Column("message", Text, nullable=False, server_default=""),
    Column("trials", Integer, nullable=False),  # in all
    Column("parallel", Integer, nullable=False),
    Column("next_trial", Integer, nullable=False, server_default="1"),  # the first not begun
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("continued_at", BigInteger),  # when it last continued after its end
    Column("version", BigInteger, nullable=False, server_default="1"),
    Column("project", NAME, nullable=False, server_default=DEFAULT_PROJECT),
    Column("owner", NAME, nullable=False, server_default=OWNER),  # who may change it
    Column("created_by", NAME, nullable=False, server_default=OWNER),
    UniqueConstraint("caller", "key"),
    Index("ix_sweeps_state_pk", "state", "pk"),
    sqlite_autoincrement=True,
)

sweep_trials = Table(
    "sweep_trials",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("sweep_pk", ForeignKey("sweeps.pk"), nullable=False),
    Column("number", Integer, nullable=False),  # from 1
    Column("parameters", Text, nullable=False),  # JSON: values by pointer
    Column("state", String(32), nullable=False),
    Column("message", Text, nullable=False, server_default=""),
    Column("value", Double),  # the mean over its jobs
    Column("based_on", Text),  # JSON: numbers of the trials that had ended when it was proposed
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    UniqueConstraint("sweep_pk", "number"),
    Index("ix_sweep_trials_sweep_pk_state", "sweep_pk", "state"),
)

# The values of trials at the epochs after which early stopping decides.
sweep_rungs = Table(
    "sweep_rungs",
    metadata,
    Column("trial_pk", ForeignKey("sweep_trials.pk"), primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("sweep_pk", ForeignKey("sweeps.pk"), nullable=False),
    Column("value", Double, nullable=False),
    Column("goes_on", Integer, nullable=False),  # 1 or 0
    Column("at", BigInteger, nullable=False),
    Index("ix_sweep_rungs_sweep_pk_epoch", "sweep_pk", "epoch"),
)

# The jobs of trials. Their results stay when the job is deleted.
sweep_jobs = Table(
    "sweep_jobs",
    metadata,
    Column("trial_pk", ForeignKey("sweep_trials.pk"), primary_key=True),
    Column("seed", BigInteger, primary_key=True, autoincrement=False),
    Column("job_pk", ForeignKey("jobs.pk"), index=True),  # null: deleted
    Column("job_id", String(64), nullable=False),
    Column("state", String(32)),  # the final state; null: it has not ended
    Column("message", Text, nullable=False, server_default=""),
    Column("value", Double),
    Column("run_ms", BigInteger, nullable=False, server_default="0"),  # time with agents
    Column("executable", String(64)),  # the key of the program that it compiles; null: none
    Column("repeats", Boolean, nullable=False, server_default=false()),  # it runs again, or anew
    Column("replaced_ms", BigInteger, nullable=False, server_default="0"),  # of former jobs
    Index("ix_sweep_jobs_executable", "executable"),
)

# Receivers of news: their secrets follow from the service's key.
webhooks = Table(
    "webhooks",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("name", String(128), nullable=False),
    Column("url", String(2048), nullable=False),  # also mailto:
    Column("form", String(16), nullable=False),  # of the message
    Column("types", Text, nullable=False),  # of news, separated by spaces
    Column("is_on", Boolean, nullable=False),
    Column("reason", String(256), nullable=False),  # why it is off
    Column("created_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

# Messages that were sent or wait, written in the transaction of the change that they are about.
deliveries = Table(
    "deliveries",
    metadata,
    Column("pk", KEY, primary_key=True),
    Column("id", String(32), nullable=False, unique=True),  # the same at every try
    Column("webhook_pk", ForeignKey("webhooks.pk"), nullable=False, index=True),
    Column("kind", String(32), nullable=False),
    Column("job_id", String(64)),
    Column("body", Text, nullable=False),
    Column("state", String(16), nullable=False),  # waiting, delivered or failed
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("error", String(256), nullable=False, server_default=""),  # of the latest try
    Column("created_at", BigInteger, nullable=False),
    Column("next_at", BigInteger, nullable=False),  # when it is sent
    Column("ended_at", BigInteger, index=True),
    Index("ix_deliveries_state_next_at", "state", "next_at"),
    sqlite_autoincrement=True,
)
