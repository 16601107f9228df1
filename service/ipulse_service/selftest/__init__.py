"""The fault suite of `ipulse selftest --faults`.

It starts a stack of its own, injects faults while jobs are submitted, and counts what was lost,
run twice or delayed.
"""

GROUPS = (
    "kills",
    "messages",
    "misbehaving-runner",
    "memory",
    "split-brain",
    "slow-broker",
    "stopped-agent",
    "clock",
    "locked-database",
    "database",
    "disks",
)  # in the order in which they run
