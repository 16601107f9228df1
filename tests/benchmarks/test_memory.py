"""A long sample takes bounded memory if only its spikes are stored."""

from __future__ import annotations

import multiprocessing

import pytest

from benchmarks.training import memory
from ipulse_ops.lif.cpu import native


@pytest.mark.verify
def test_long_samples_take_less_memory_if_only_spikes_are_stored() -> None:
    native.build_tensorflow_op()
    spawn = multiprocessing.get_context("spawn")
    peaks = {}
    for store in ("membranes", "spikes"):
        with spawn.Pool(1) as pool:
            row = pool.apply(memory.peak, ("A", 1000, "exact", store, None))
        peaks[store] = float(row["peak_mib"])
    # The membranes of 64 samples are 125 MiB; groups of samples take 16 MiB at a time.
    assert peaks["spikes"] < 0.6 * peaks["membranes"], peaks
