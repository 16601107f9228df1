"""Poplar's errors in TensorFlow's words, by the examples that its own tests have."""

from __future__ import annotations

import pytest

from ipulse_core.states import POLICIES, Policy, Reason
from ipulse_worker.runner.devices.poplar_errors import find

RESET = " IPU will be reset the next time a program is executed."
# Words, reason, policy: one line for each kind of error.
EXAMPLES = [
    (
        "[Poplar][Load engine] recoverable_runtime_error: [Recovery action: IPU_RESET] "
        f"CIUERRVR.IPUSOFTERR error on IPU 0.{RESET}",
        Reason.IPU_RESET,
        Policy.RETRY_HERE,
    ),
    (
        "[Poplar][Execute engine] recoverable_runtime_error: [Recovery action: LINK_RESET] link",
        Reason.PARTITION_RESET,
        Policy.RETRY_ELSEWHERE,
    ),
    (
        "[Poplar][Execute engine] recoverable_runtime_error: [Recovery action: PARTITION_RESET] x",
        Reason.PARTITION_RESET,
        Policy.RETRY_ELSEWHERE,
    ),
    (
        "[Poplar][Host to device] recoverable_runtime_error: [Recovery action: FULL_RESET] parity",
        Reason.FULL_RESET,
        Policy.QUARANTINE,
    ),
    (
        "[Poplar][Execute engine] recoverable_runtime_error: [Recovery action: PRAYER] parity",
        Reason.UNRECOVERABLE,
        Policy.QUARANTINE,
    ),
    (
        "[Poplar][Execute engine] unrecoverable_runtime_error: host sync failed",
        Reason.UNRECOVERABLE,
        Policy.QUARANTINE,
    ),
    (
        "[Poplar][Execute engine] application_runtime_error: [Recovery action: IPU_RESET] Tiles "
        f"in excepted state [0:3]{RESET}",
        Reason.APPLICATION_ERROR,
        Policy.FAIL,
    ),
    (
        "[Poplar][Compile engine] graph_memory_allocation_error: Out of memory: Cannot fit all "
        "variable data onto one or more tiles. Tile 3 needs 700000 bytes",
        Reason.DEVICE_OUT_OF_MEMORY,
        Policy.FAIL,
    ),
    (
        "[Poplar][Build graph] graph_connection_error: no such field",
        Reason.GRAPH_REFUSED,
        Policy.FAIL,
    ),
    ("[Poplar] link_error: undefined symbol", Reason.GRAPH_REFUSED, Policy.FAIL),
]


def test_more_ipus_are_advised_only_where_they_can_be_used() -> None:
    [words] = [words for words, reason, _ in EXAMPLES if reason is Reason.DEVICE_OUT_OF_MEMORY]
    error = find(words)
    assert error is not None
    assert "device.ipus" in error.message()
    assert "device.ipus" not in error.message(on_one_ipu=True)
    assert "training.batch_size" in error.message(on_one_ipu=True)


@pytest.mark.parametrize(("words", "reason", "policy"), EXAMPLES)
def test_each_has_one_reason_and_one_policy(words: str, reason: Reason, policy: Policy) -> None:
    error = find(f"Detected 1 error: {words}")
    assert error is not None
    assert error.reason is reason
    assert POLICIES[error.reason] is policy


def test_the_parts_are_reported_apart() -> None:
    error = find(f"{EXAMPLES[0][0]}\n\t [[{{{{node cluster}}}}]] [Op:__inference_step_12]")
    assert error == (
        "Load engine",
        "recoverable_runtime_error",
        "IPU_RESET",
        "CIUERRVR.IPUSOFTERR error on IPU 0.",
    )


def test_the_message_has_the_hint_and_what_does_not_fit() -> None:
    error = find(EXAMPLES[7][0])
    assert error is not None
    assert "training.batch_size" in error.message()
    assert "Compile engine" in error.message()
    assert "Tile 3 needs 700000 bytes" in error.message()


@pytest.mark.parametrize("words", ["", "InternalError: out of luck", "Poplar is a tree: tall"])
def test_other_errors_are_none_of_poplars(words: str) -> None:
    assert find(words) is None
