"""Rules between fields of a spec and its device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ipulse.spec_documents import assert_refused

LAYER = "/network/layers/0"

MISFITS: dict[str, tuple[dict[str, Any], str, str]] = {
    "quantised weights that are rounded again": (
        {f"{LAYER}/quantisation": {}, "/device": {"kind": "cpu", "weights_dtype": "bfloat16"}},
        "/device/weights_dtype",
        "the weights of /network/layers/0 are quantised",
    ),
    "quantised weights on an IPU": (
        {"/network/readout/quantisation": {"bits": 4}, "/device": {"kind": "ipu"}},
        "/network/readout/quantisation",
        "use device kind cpu or emulator",
    ),
    "a layer's delay on emulated tiles": (
        {"/network/readout/delay": 1, "/device": {"kind": "emulator"}},
        "/network/readout/delay",
        "set network.delay",
    ),
    "a long delay on an IPU": (
        {"/network/delay": 2, "/device": {"kind": "ipu"}},
        "/network/delay",
        "0 steps or 1; got 2",
    ),
    "truncated gradients on an IPU": (
        {"/training/truncate_steps": 5, "/device": {"kind": "ipu"}},
        "/training/truncate_steps",
        "on ipu: remove it",
    ),
    "adaptive thresholds on an emulated IPU": (
        {"/network/layers/0/adaptation": {"strength": 0.1}, "/device": {"kind": "emulator"}},
        "/network/layers/0/adaptation",
        "cpu",
    ),
    "adaptive thresholds of a readout on IPUs": (
        {
            "/network/readout": {"kind": "spiking", "adaptation": {}},
            "/training/loss": "spike_count_mse",
            "/device": {"kind": "ipu"},
        },
        "/network/readout/adaptation",
        "cpu",
    ),
    "dropout on an emulated IPU": (
        {"/network/layers/0/dropout": 0.2, "/device": {"kind": "emulator"}},
        "/network/layers/0/dropout",
        "cpu",
    ),
    "standardised weights on an emulated IPU": (
        {"/network/layers/0/standardised": True, "/device": {"kind": "emulator"}},
        "/network/layers/0/standardised",
        "cpu",
    ),
    "dropout of a readout on IPUs": (
        {"/network/readout": {"dropout": 0.2}, "/device": {"kind": "ipu"}},
        "/network/readout/dropout",
        "cpu",
    ),
    "an addition on an emulated IPU": (
        {
            "/network/layers": [{"neurons": 8}, {"neurons": 8}],
            "/network/readout": {"residual": [1]},
            "/device": {"kind": "emulator"},
        },
        "/network/readout/residual",
        "cpu",
    ),
}


@pytest.mark.parametrize(("changes", "pointer", "hint"), MISFITS.values(), ids=MISFITS.keys())
def test_fields_that_a_device_lacks_are_refused_with_place_and_hint(
    changes: dict[str, Any], pointer: str, hint: str
) -> None:
    assert_refused(changes, pointer, hint)
