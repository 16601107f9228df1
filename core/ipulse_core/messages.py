"""Constants that service, agents and clients share: queues, protocol, headers and limits.

A message in a queue is a wake-up, "look at job X". The row in the database is the job.
"""

from __future__ import annotations

import re
from typing import Dict

from ipulse_core.registry.kinds import DEVICES
from ipulse_core.version import version

BROKER_SCHEMES = ("redis", "rediss", "redis+socket")  # of broker URLs

TASK = "ipulse.look_at_job"  # the only task that agents accept; its argument is a job id

# The protocol between service and agent. The number grows when one of them sends what the other
# would refuse or not understand: a new event, another field of a claim, a new kind of spec.
# 1 to 4: agents of 0.1; 5: uploads with HEAD and PATCH; 6: registrations with host, IPUs and data
# sets, claims without a job; 7: the request to finish a job early, start files and ops of claims;
# 8: registrations with capabilities and reasons of quarantines, ends with what the worker lacked,
# claims with a fencing token of the agent; 9: claims with the versions of specs that the agent runs
PROTOCOL = 9
OLDEST_PROTOCOL = 5  # the oldest that this service accepts
PROTOCOL_HEADER = "IPUlse-Protocol"
FENCE_HEADER = "IPUlse-Fence"  # the fencing token of an attempt
SESSION_HEADER = "IPUlse-Agent-Session"  # a random text of each process of an agent
AGENT_PREFIX = "ipulse-agent/"  # of an agent's User-Agent header; its version follows

EVENTS_PER_REQUEST = 10_000
EVENTS_PER_COMMIT = 1_000  # in one transaction, so that a chatty job does not block other writers
MANIFEST_BYTES = 2**16  # a larger manifest is uploaded by itself, before the attempt ends
MAX_DATA_SETS = 2_000  # that a registration lists; an agent with more lists none

MIN_TOKEN_LENGTH = 32  # characters; what `ipulse up` writes is longer
DEVICE_KINDS = tuple(DEVICES)  # that a runner of this version can use
# The id of a job, an attempt, an artifact or a token. It is safe as a file name and in a URL.
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


def agent_headers(token: str) -> Dict[str, str]:
    """Return the headers of every request of an agent."""
    return {
        "Authorization": f"Bearer {token}",
        "User-Agent": f"{AGENT_PREFIX}{version()}",
        PROTOCOL_HEADER: str(PROTOCOL),
    }


def queue_of(device_kind: str) -> str:
    """Returns the name of the queue that agents with this kind of device consume."""
    return f"ipulse.{device_kind}"
