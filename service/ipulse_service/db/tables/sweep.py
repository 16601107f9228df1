"""Tables of sweeps, their trials and the jobs of trials."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from ipulse_service.db.tables.base import KEY, metadata

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
