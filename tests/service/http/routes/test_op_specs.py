"""Specs that name custom ops, and manifests of ops: what is refused, and where."""

from __future__ import annotations

import io
from typing import Any

import httpx

from ipulse_core.source_package import PackedFile, write_package
from tests.service.datasets.uploading import check_refused
from tests.service.pushed_ops import GAIN, MANIFEST, package, pointers, pushed, spec, sweep_of
from tests.service.running import InProcess

PLAIN: dict[str, Any] = {
    "version": 1,
    "network": {"layers": [{"neurons": 32}, {"neurons": 16}]},
    "training": {"epochs": 1},
}


def test_no_sweep_takes_an_op_past_the_right(service: InProcess, coder: httpx.Client) -> None:
    content = package(note="sweeps")
    pushed(coder, content)
    document = spec(content)
    layer = document["network"]["layers"][1]
    ways = [
        sweep_of(document),
        sweep_of(PLAIN, parameters={"/network/layers/1": {"values": [layer, {"neurons": 8}]}}),
        sweep_of(PLAIN, parameters={"/network": {"values": [document["network"]]}}),
        sweep_of(
            PLAIN,
            parameters={"/network/layers/1": {"values": [{"neurons": 8}, layer]}},
            method="random",
            trials=1,
        ),
        sweep_of(
            PLAIN,
            parameters={},
            together=[
                {
                    "parameters": ["/network/layers/1", "/seed"],
                    "values": [[layer, 1], [{"neurons": 8}, 2]],
                }
            ],
        ),
    ]
    for way in ways:
        check_refused(service.user.post("/v1/sweeps", json=way), 403, "code_not_permitted")
    begun = coder.post("/v1/sweeps", json=sweep_of(document))
    assert begun.status_code == 201, begun.text
    path = f"/v1/sweeps/{begun.json()['id']}"
    for change in ({"seeds": [7, 8]}, {"values": {"/seed": [3]}}, {"parallel": 2}):
        check_refused(service.user.patch(path, json=change), 403, "code_not_permitted")
    assert coder.patch(path, json={"values": {"/seed": [3]}}).status_code == 200
    varied = sweep_of(PLAIN, parameters={"/network/layers/1": {"values": [{"neurons": 8}]}})
    plain = service.user.post("/v1/sweeps", json=varied)
    assert plain.status_code == 201, plain.text
    added = {"values": {"/network/layers/1": [layer]}}
    plain_path = f"/v1/sweeps/{plain.json()['id']}"
    check_refused(service.user.patch(plain_path, json=added), 403, "code_not_permitted")
    for stopped in (path, plain_path):
        service.user.post(f"{stopped}/stop", params={"running": "cancel"})


def test_every_trial_of_a_sweep_is_checked(coder: httpx.Client) -> None:
    content = package(note="checked trials")
    pushed(coder, content)
    wrong = sweep_of(spec(content), parameters={"/network/layers/1/neurons": {"values": [16, 15]}})
    assert pointers(coder.post("/v1/sweeps", json=wrong)) == ["/spec/network/layers/1/neurons"]


WRONG_MANIFESTS: list[tuple[dict[str, Any], str]] = [
    ({"name": "no name"}, "/name"),
    ({"kernel": ["missing.cpp"]}, "/kernel/0"),
    (
        {"outputs": [{"name": "y", "dtype": "float32", "shape": ["nobody"]}]},
        "/outputs/0/shape/0",
    ),
    (
        {"outputs": [{"name": "y", "dtype": "float32", "shape": ["2 ** 9"]}]},
        "/outputs/0/shape/0",
    ),
    ({"attributes": {"width": {"type": "list"}}}, "/attributes/width/type"),
    (
        {"attributes": {"width": {"type": "integer", "default": 9, "maximum": 8}}},
        "/attributes/width/default",
    ),
    ({"gradients": ["z"]}, "/gradients/0"),
    ({"colour": 1}, "/colour"),
]


def test_a_wrong_manifest_is_refused_with_its_places(coder: httpx.Client) -> None:
    for changes, pointer in WRONG_MANIFESTS:
        assert pointer in pointers(pushed(coder, package(**changes))), changes


def test_a_package_without_a_manifest_or_with_a_huge_one_is_refused(coder: httpx.Client) -> None:
    content = io.BytesIO()
    write_package([PackedFile("reference.py", b"")], content)
    assert pushed(coder, content.getvalue()).status_code == 422
    assert pushed(coder, package(name="x" * 70_000)).status_code == 422


WRONG_LAYERS: list[tuple[dict[str, Any], str]] = [
    ({"neurons": 15}, "/network/layers/1/neurons"),
    ({"attributes": {"width": 9}}, "/network/layers/1/attributes/width"),
    ({"attributes": {"width": True}}, "/network/layers/1/attributes/width"),
    ({"attributes": {"depth": 1}}, "/network/layers/1/attributes/depth"),
    ({"attributes": {"width": 5}}, "/network/layers/1/neurons"),
    ({"op": "other@sha256:" + "0" * 64}, "/network/layers/1/op"),
    ({"op": "pool_op@sha256:0"}, "/network/layers/1/op"),
]


def test_a_layer_that_does_not_fit_is_refused_with_its_place(coder: httpx.Client) -> None:
    content = package(note="fits")
    pushed(coder, content)
    for changes, pointer in WRONG_LAYERS:
        document = spec(content, **changes)
        assert pointers(coder.post("/v1/jobs", json=document)) == [pointer], changes
        assert pointers(coder.post("/v1/jobs:validate", json=document)) == [pointer], changes


def test_a_network_in_which_nothing_learns_is_refused(coder: httpx.Client) -> None:
    content = package(note="frozen")
    learning = package(note="learns", weights=[GAIN], gradients=["x", "gain"])
    for each in (content, learning):
        pushed(coder, each)
    for each, places in ((content, ["/network/layers"]), (learning, [])):
        document = spec(each)
        document["network"]["layers"][0]["trainable"] = False
        document["network"]["readout"] = {"trainable": False}
        answer = coder.post("/v1/jobs:validate", json=document)
        assert (pointers(answer) if places else []) == places, answer.text
        if not places:
            assert answer.status_code == 200, answer.text


def test_huge_weights_of_an_op_are_refused(coder: httpx.Client) -> None:
    huge = {**GAIN, "shape": ["senders * 1000000", "neurons * 1000000"]}
    content = package(
        note="huge",
        weights=[huge],
        gradients=["x", "gain"],
        sizes={**MANIFEST["sizes"], "neurons": 4},
    )
    assert pushed(coder, content).status_code == 204
    assert pointers(coder.post("/v1/jobs:validate", json=spec(content))) == ["/network/layers/1/op"]


def test_no_memory_of_tiles_is_predicted_for_ops(coder: httpx.Client) -> None:
    content = package(note="tiles", sources=["reference.py"])
    pushed(coder, content)
    document = {**spec(content), "device": {"kind": "emulator", "tiles": 1}}
    answer = coder.post("/v1/jobs:validate", json=document)
    assert answer.status_code == 200, answer.text
    assert answer.json().get("fit") is None


def test_an_op_without_poplar_source_is_refused_on_the_emulator(coder: httpx.Client) -> None:
    content = package(note="emulator")
    pushed(coder, content)
    for kind in ("emulator", "ipu"):
        document = {**spec(content), "device": {"kind": kind}}
        assert pointers(coder.post("/v1/jobs", json=document)) == ["/network/layers/1/op"]
