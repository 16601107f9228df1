"""The module that scripts import as `popdist`: the answers of a single process."""

from __future__ import annotations

import os

from ipu_tensorflow_emulator.process import ipus_in_use

if int(os.environ.get("POPDIST_NUM_TOTAL_INSTANCES", "1")) > 1:
    raise NotImplementedError(
        "poprun starts several instances, and the emulation has one. Start the script with "
        "`python -m ipu_tensorflow_emulator` instead of poprun"
    )


def isPopdistEnvSet() -> bool:
    """Return False: poprun did not start this process."""
    return False


def init() -> None:
    """Do nothing."""


def getNumInstances() -> int:
    """Return the number of processes."""
    return 1


def getInstanceIndex() -> int:
    """Return the number of this process."""
    return 0


def getNumTotalReplicas() -> int:
    """Return the number of replicas."""
    return 1


def getNumLocalReplicas() -> int:
    """Return the number of this process's replicas."""
    return 1


def getReplicaIndexOffset() -> int:
    """Return the number of this process's first replica."""
    return 0


def getNumIpusPerReplica() -> int:
    """Return the number of IPUs of a replica."""
    return ipus_in_use()


def getNumIpusPerInstance() -> int:
    """Return the number of IPUs of a process."""
    return ipus_in_use()


def getDeviceId(*_: object) -> int:
    """Return the number of the device."""
    return 0
