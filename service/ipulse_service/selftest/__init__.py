"""Breaks a stack of its own in every way that a machine can, and counts what that cost.

`ipulse selftest --faults`: what was accepted must end, once, and soon.
"""

GROUPS = (
    "kills",
    "messages",
    "hostile",
    "memory",
    "rivals",
    "slow",
    "stop",
    "lock",
    "database",
    "disks",
)  # in this order
