"""What service and workers must agree on: names of the queue, number and limits of the protocol.

A message is a wake-up that says "look at job X". The row in the database is the job.
"""

from __future__ import annotations

BROKER_SCHEMES = ("redis", "rediss", "redis+socket")  # of the URLs that both sides speak

TASK = "ipulse.look_at_job"  # the one task that workers accept; its one argument is a job id

# The protocol between service and agent. It grows when one of them says what the other would
# refuse or not understand: a new event, another field of a claim, a new kind of spec. What is
# left out is as it was with number 1.
# 2: `lines` among the events; 3: the manifest together with the end; 4: checksums behind a file
PROTOCOL = 4
OLDEST_PROTOCOL = 1  # that a service of today still serves
PROTOCOL_HEADER = "IPUlse-Protocol"

EVENTS_PER_REQUEST = 10_000
# In one transaction, so that a chatty job does not keep others from writing.
EVENTS_PER_COMMIT = 1_000
MANIFEST_BYTES = 2**16  # of one that comes with the end; a larger one is uploaded before


def queue_of(device_kind: str) -> str:
    """The queue that agents for this kind of device listen on."""
    return f"ipulse.{device_kind}"
