"""Exports for other simulators: what each cannot run is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec


def document(network: dict[str, Any], *exports: dict[str, Any]) -> dict[str, Any]:
    whole = {"layers": [{"neurons": 8}], **network}
    return {"version": 1, "network": whole, "export": {"nir": list(exports)}}


@pytest.mark.parametrize(
    ("target", "network", "place"),
    [
        ("spikingjelly", {"reset": "subtract"}, "network.reset"),
        (
            "spikingjelly",
            {"layers": [{"neurons": 2, "decay": [0.9, 0.8]}]},
            "network.layers.0.decay",
        ),
        ("spikingjelly", {"trainable": ["decay"]}, "network.layers.0.decay"),
        ("sinabs", {}, "network.reset"),
        (
            "sinabs",
            {"reset": "subtract", "layers": [{"neurons": 8, "recurrent": True}]},
            "network.layers.0.recurrent",
        ),
        ("rockpool", {"reset": "subtract"}, "network.readout.kind"),
        ("norse", {"reset": "none"}, "network.reset"),
        ("norse", {"delay": 1}, "network.delay"),
        ("snntorch", {"layers": [{"neurons": 8, "recurrent": True}]}, "network.layers.0"),
        ("snntorch", {"layers": [{"neurons": 2, "threshold": [1.0, 1e-40]}]}, "network.layers.0"),
    ],
)
def test_what_a_target_cannot_run_is_refused(
    target: str, network: dict[str, Any], place: str
) -> None:
    with pytest.raises(InvalidSpec, match=place) as raised:
        parse_spec(document(network, {"target": target}))
    assert {p.pointer for p in raised.value.problems} == {"/export/nir/0/target"}
    assert parse_spec(document(network, {"target": target, "on_loss": "warn"}))


@pytest.mark.parametrize(
    ("target", "network"),
    [
        ("generic", {"delay": 1, "reset": "none"}),
        ("spikingjelly", {"layers": [{"neurons": 8, "recurrent": True, "decay": [0.5] * 8}]}),
        ("sinabs", {"reset": "subtract", "layers": [{"neurons": 8, "synapse_decay": 0.5}]}),
        ("norse", {"layers": [{"neurons": 8, "recurrent": True}], "reset": "subtract"}),
        ("snntorch", {"layers": [{"neurons": 8, "synapse_decay": 0.5, "capacity": 4}]}),
    ],
)
def test_what_it_can_run_is_accepted(target: str, network: dict[str, Any]) -> None:
    assert parse_spec(document(network, {"target": target})).export.nir[0].target == target


def test_a_target_named_twice_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="norse is in the list already"):
        parse_spec(document({}, {"target": "norse"}, {"target": "norse"}))
