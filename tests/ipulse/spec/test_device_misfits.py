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
    "weights of float16 on an IPU": (
        {"/device": {"kind": "ipu", "weights_dtype": "float16"}},
        "/device/weights_dtype",
        "states_dtype may be float16",
    ),
    "weights of bfloat16 on an IPU": (
        {"/device": {"kind": "ipu", "weights_dtype": "bfloat16"}},
        "/device/weights_dtype",
        "IPUs have no bfloat16: remove it",
    ),
    "states of float16 on a CPU": (
        {"/device": {"kind": "cpu", "states_dtype": "float16"}},
        "/device/states_dtype",
        "a CPU has no tiles: remove it",
    ),
    "quantised weights on an IPU": (
        {"/network/readout/quantisation": {"bits": 4}, "/device": {"kind": "ipu"}},
        "/network/readout/quantisation",
        "use device kind cpu or emulator",
    ),
    "a layer's delay on IPUs": (
        {"/network/readout/delay": 1, "/device": {"kind": "ipu"}},
        "/network/readout/delay",
        "set network.delay",
    ),
    "a long delay on an IPU": (
        {"/network/delay": 2, "/device": {"kind": "ipu"}},
        "/network/delay",
        "0 steps or 1; got 2",
    ),
    "truncated gradients of steps that are recomputed": (
        {"/training/truncate_steps": 5, "/device": {"kind": "ipu", "memory": "recompute"}},
        "/training/truncate_steps",
        "where device.memory is recompute: remove it",
    ),
    "adaptive thresholds with the policy top on an emulated IPU": (
        {
            "/network/layers/0": {"neurons": 8, "adaptation": {}, "policy": "top", "capacity": 4},
            "/device": {"kind": "emulator"},
        },
        "/network/layers/0/policy",
        "choose index or cyclic",
    ),
    "adaptive thresholds with the whole gradient of the reset on IPUs": (
        {
            "/network/readout": {"kind": "spiking", "adaptation": {}},
            "/network/reset_gradient": "none",
            "/training/loss": "spike_count_mse",
            "/device": {"kind": "ipu"},
        },
        "/network/reset_gradient",
        "mask or term on ipu",
    ),
    "adaptive thresholds that are recomputed": (
        {
            "/network/layers/0/adaptation": {"strength": 0.1},
            "/device": {"kind": "emulator", "memory": "recompute"},
        },
        "/device/memory",
        "use slots",
    ),
    "dropout on several emulated IPUs": (
        {"/network/layers/0/dropout": 0.2, "/device": {"kind": "emulator", "ipus": 2}},
        "/device/ipus",
        "layers with dropout are programs of their own, on one IPU; got 2",
    ),
    "dropout where emulated tiles compute the loss": (
        {
            "/network/layers/0/dropout": 0.2,
            "/device": {"kind": "emulator", "training": "device"},
        },
        "/network/layers/0/dropout",
        "set device.training to host",
    ),
    "a long delay where emulated tiles compute the loss": (
        {"/network/delay": 2, "/device": {"kind": "emulator", "training": "device"}},
        "/network/delay",
        "0 steps or 1; got 2",
    ),
    "standardised weights on IPUs": (
        {"/network/layers/0/standardised": True, "/device": {"kind": "ipu"}},
        "/network/layers/0/standardised",
        "cpu",
    ),
    "dropout of a readout on IPUs": (
        {"/network/readout": {"dropout": 0.2}, "/device": {"kind": "ipu"}},
        "/network/readout/dropout",
        "cpu",
    ),
    "an addition on IPUs": (
        {
            "/network/layers": [{"neurons": 8}, {"neurons": 8}],
            "/network/readout": {"residual": [1]},
            "/device": {"kind": "ipu"},
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
