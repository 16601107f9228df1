"""The memory that a part has of its own, over the jobs."""

from __future__ import annotations

import subprocess
import sys

from ipulse_service.selftest.footprint import MAX_SAMPLES, Sample, own_bytes, thinned


def test_it_is_that_of_the_process_and_shared_with_none() -> None:
    size = 32 * 2**20
    text = f"kept = bytes(1) * {size}; print(flush=True); input()"
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert size < (own_bytes(process.pid) or 0) < 2 * size
        process.communicate(b"\n")
    assert own_bytes(process.pid) is None


def test_the_first_and_the_last_sample_are_reported_however_many_there_were() -> None:
    few = [Sample(jobs, 1.0) for jobs in range(MAX_SAMPLES)]
    assert thinned(few) == few
    many = [Sample(jobs, 1.0) for jobs in range(10 * MAX_SAMPLES)]
    samples = thinned(many)
    assert len(samples) == MAX_SAMPLES
    assert (samples[0], samples[-1]) == (many[0], many[-1])
    assert samples == sorted(samples)
