"""Replicated graphs against NumPy, and how replicas diverge and synchronize."""

from __future__ import annotations

import subprocess
from math import ceil
from typing import Callable, Dict, Tuple

import numpy as np
import pytest

from tests.emulator.printed import Tensors, printed_tensors

# The error class of each mistake, and words of its hint or its place.
MISTAKES: Dict[str, Tuple[str, ...]] = {
    "callback_for_another": ("stream_connection_error", "replica 4", "there are 4"),
    "callback_for_one": ("stream_connection_error", "replica 1", "with its index"),
    "device_too_small": ("runtime_error", "4 IPUs of 4 tiles and the device has 2"),
    "factor_that_does_not_divide": ("graph_replication_error", "factor of 3", "4 IPUs"),
    "groups_that_do_not_divide": ("groups of 3", "must divide"),
    "host_copy_in_a_branch": ("application_runtime_error", "replica 1, 3 of 4", "'out'"),
    "meeting_in_a_branch": ("application_runtime_error", "GlobalExchange", "all-reduce for one"),
    "mean_of_whole_numbers": ("MEAN of int", "cast to float"),
    "no_replicas": ("graph_replication_error", "factor of 0"),
    "not_equal": ("application_runtime_error", "of replica 1 is not that of replica 0"),
    "profile_of_another": ("invalid_option", "profiler.replicaToProfile is 4"),
    "read_of_another": ("stream_connection_error", "of replica 4"),
    "read_of_one": ("stream_connection_error", "gives 48 bytes, not 12", "one after the other"),
    "replica_that_there_is_not": ("control_program_error", "names replica 4"),
    "stream_for_one": ("stream_connection_error", "moves 48 bytes", "of 12"),
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def output(run_program: Run, part: str) -> str:
    run = run_program("replicas", part)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def tensors(run_program: Run) -> Tensors:
    """Return the results of collectives, one row per replica, from a stored executable."""
    return printed_tensors(output(run_program, "collectives"))


@pytest.mark.verify
def test_reductions_reach_every_replica(tensors: Tensors) -> None:
    data = tensors["given"]
    expected = {
        "sum": data.sum(axis=0),
        "mean": data.mean(axis=0),
        "largest": data.max(axis=0),
        "in_place": data.min(axis=0),
        "product": data.prod(axis=0),
        "squares": (data**2).sum(axis=0),
        "broadcast": data[0],
    }
    for name, row in expected.items():
        np.testing.assert_allclose(tensors[name], [row] * 4, rtol=1e-5, err_msg=name)
    np.testing.assert_array_equal(tensors["local"], data)


def test_parts_rows_and_groups(tensors: Tensors) -> None:
    data, rows = tensors["given"], tensors["given_rows"].reshape(4, 4, 3)
    padding = np.array([[0.0]] * 4)
    np.testing.assert_array_equal(tensors["scattered"].ravel()[:7], data.sum(axis=0))
    own = np.hstack([data, padding]).reshape(4, 4, 2)[range(4), range(4)]
    np.testing.assert_array_equal(tensors["own_part"].ravel()[:7], own.ravel()[:7])
    np.testing.assert_array_equal(tensors["gathered"], [data.ravel()] * 4)
    np.testing.assert_array_equal(tensors["exchanged"], rows.swapaxes(0, 1).reshape(4, 12))
    np.testing.assert_array_equal(tensors["pairs"], data.reshape(2, 14)[[0, 0, 1, 1]])
    near, far = data[[0, 1]].sum(axis=0), data[[2, 3]].sum(axis=0)
    np.testing.assert_array_equal(tensors["of_pairs"], [near, near, far, far])
    even, odd = data[[0, 2]].sum(axis=0), data[[1, 3]].sum(axis=0)
    np.testing.assert_array_equal(tensors["of_apart"], [even, odd, even, odd])
    np.testing.assert_array_equal(tensors["strided"], [even, odd, even, odd])


def test_a_copy_between_replicas_reads_all_first(tensors: Tensors) -> None:
    data = tensors["given"]
    np.testing.assert_array_equal(tensors["moved"], data[[3, 1, 2, 0]])
    np.testing.assert_array_equal(tensors["moved_of_3"], data[[0]])


def test_the_host_serves_replicas_in_their_order(run_program: Run) -> None:
    """Two runs of two replicas of two IPUs."""
    text = output(run_program, "host")
    assert "target 2 8 2 2\nstreams 2 1\n" in text
    of = printed_tensors(text)
    own, shared = of["own"], of["shared"]
    np.testing.assert_array_equal(of["back"], own + shared)
    np.testing.assert_array_equal(of["summed"], (own + shared)[2:])
    np.testing.assert_array_equal(of["same"], [shared[0]] * 2)
    np.testing.assert_array_equal(of["called"], [[10] * 3, [20] * 3])
    np.testing.assert_array_equal(of["turns"], [[2] * 3, [3] * 3])
    np.testing.assert_array_equal(of["far"], 2 * own[:2])  # of the run before
    np.testing.assert_array_equal(of["twice"], 2 * own[2:])


def test_replicas_diverge_and_synchronize(run_program: Run) -> None:
    text = output(run_program, "parting")
    of = printed_tensors(text)
    assert of["rounds"].ravel().tolist() == [0, 1, 2, 3]
    assert of["branch"].ravel().tolist() == [5, 7, 5, 7]
    assert of["all"].ravel().tolist() == [6] * 4
    assert "".join(f"index of replica {r}: {r}\n" for r in range(4)) in text
    assert "profile 4 1 4 16 4\n" in text
    assert "Memory Usage of each replica" in text
    # The replica with fewer iterations waits for the other: both take as long.
    words = [line.split() for line in text.splitlines() if " took " in line]
    assert [w[1] for w in words] == ["0", "3"]
    assert len({w[3] for w in words} | {w[5] for w in words}) == 1


def test_costs_of_a_copy_between_replicas(run_program: Run) -> None:
    """64 floats, of one tile to one tile: each line's figures are worked out here."""
    clock, link = 1.33e9, 0.85 * 128 * 2**30 / 8
    hops = ceil(15e-9 * clock * 2 * 2)  # there and back, past two IPUs
    exchange = 100 + 256 // 4 + hops
    near, far = ceil(256 / (4 * link) * clock), ceil(256 / (2 * link) * clock)
    within = round(587 + 256 * 0.4404)
    expected = [
        (90, exchange + near, 0, 256),  # to the other IPU of a card
        (90, exchange + far, 0, 256),  # to another card
        (90, exchange + far, 0, 512),  # to both: sent once by the tile, over links of their own
        (90, 0, within, 0),  # to itself
    ]
    lines = output(run_program, "costs").splitlines()
    assert [tuple(map(int, line.split()[1:])) for line in lines] == expected


def test_errors_of_replicated_graphs_have_hints(run_program: Run) -> None:
    run = run_program("replicas")
    answers = dict(line.split(": ", 1) for line in run.stdout.splitlines())
    assert sorted(answers) == sorted(MISTAKES), run.stderr
    for mistake, words in MISTAKES.items():
        for word in words:
            assert word in answers[mistake], answers[mistake]
