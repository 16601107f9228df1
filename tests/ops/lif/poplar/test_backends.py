"""The back ends of `run_network` that need something installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, Network
from ipulse_ops.lif.poplar.backends import MissingEmulator
from ipulse_ops.lif.poplar.sdk import MissingSDK
from ipulse_ops.lif.run_options import RunOptions
from ipulse_ops.lif.tensorflow_op import BACKENDS, run_network

pytestmark = pytest.mark.old_python

NETWORK = Network(inputs=2, layers=(), readout=LIF(neurons=1))
INPUTS = [np.ones((2, 1), np.float32)], [[[1]]], [[1]]


def test_the_emulator_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "poplar_emulator.user_op", None)
    with pytest.raises(MissingEmulator, match="poplar-emulator"):
        run_network(NETWORK, *INPUTS, RunOptions(backend="emulator", tiles_per_ipu=4))
    assert run_network(NETWORK, *INPUTS, RunOptions(backend="numpy")).membrane.shape == (1, 1, 1)


def test_ipus_need_the_tensorflow_of_the_sdk() -> None:
    with pytest.raises(MissingSDK, match="no TensorFlow for the IPU"):
        run_network(NETWORK, *INPUTS, RunOptions(backend="ipu"))


def test_an_unknown_back_end_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="cpu, numpy, emulator or ipu; got gpu"):
        run_network(NETWORK, *INPUTS, RunOptions(backend="gpu"))
    assert list(BACKENDS) == ["cpu", "numpy", "emulator", "ipu"]
