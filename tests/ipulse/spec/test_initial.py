"""Initial weights and frozen layers in specs."""

from __future__ import annotations

from typing import Any

import pytest

from ipulse.spec import parse_spec
from ipulse_core.errors import InvalidSpec


def document(**network: Any) -> dict[str, Any]:
    return {"version": 1, "network": {"layers": [{"neurons": 8}], **network}}


def test_names_a_file_and_the_layers_to_train() -> None:
    network = parse_spec(
        document(
            initial={"file": "pretrained.npz", "sha256": "a" * 64},
            layers=[{"neurons": 8, "trainable": False}],
        )
    ).network
    assert network.initial is not None
    assert (network.initial.file, network.initial.missing) == ("pretrained.npz", "refuse")
    assert not network.layers[0].trainable
    assert network.readout.trainable
    assert parse_spec(document()).network.initial is None


def test_a_decay_of_1_is_not_trained() -> None:
    parse_spec(document(layers=[{"neurons": 2, "decay": [1.0, 0.5]}]))
    for place, network in (
        ("/network/layers/0/decay", {"layers": [{"neurons": 2, "decay": [1.0, 0.5]}]}),
        ("/network/readout/decay", {"readout": {"decay": 1.0}}),
    ):
        with pytest.raises(InvalidSpec) as raised:
            parse_spec(document(trainable=["decay"], **network))
        assert [problem.pointer for problem in raised.value.problems] == [place]


@pytest.mark.parametrize(
    ("network", "pointer"),
    [
        ({"initial": {"file": "../secret.npz"}}, "/network/initial/file"),
        ({"initial": {"file": "/etc/passwd"}}, "/network/initial/file"),
        ({"initial": {"file": "a.npz", "sha256": "ABC"}}, "/network/initial/sha256"),
        ({"initial": {}}, "/network/initial"),
        ({"initial": {"file": "a.npz", "upload": "a" * 64}}, "/network/initial"),
        ({"initial": {"upload": "a" * 64, "sha256": "a" * 64}}, "/network/initial/sha256"),
        ({"initial": {"upload": "upl_1"}}, "/network/initial/upload"),
        ({"initial": {"file": "a.npz", "missing": "zero"}}, "/network/initial/missing"),
        (
            {"layers": [{"neurons": 8, "trainable": False}], "readout": {"trainable": False}},
            "/network/layers",
        ),
    ],
)
def test_refuses(network: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidSpec) as raised:
        parse_spec(document(**network))
    assert [problem.pointer for problem in raised.value.problems] == [pointer]
