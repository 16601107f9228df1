"""Convolutions in specs: shapes from the data set, and what is refused."""

from typing import Any

import pytest

from ipulse.spec import parse_spec, spec_to_json
from ipulse.spec.sizes import layer_sizes, weight_count
from ipulse_core.errors import InvalidSpec
from ipulse_core.spec.conv_layers import conv_geometries, senders_of
from ipulse_core.spec.derived_values import input_delays
from ipulse_core.spec.start_weights import start_shapes

CONV = {"kind": "conv2d", "filters": 12, "kernel_size": 5}


def document(*layers: Any, **parts: Any) -> Any:
    network = {"layers": list(layers), **parts.pop("network", {})}
    return {"version": 1, "data": {"kind": "n_mnist"}, "network": network, **parts}


def problems(spec: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidSpec) as error:
        parse_spec(spec)
    return [(problem.pointer, problem.detail) for problem in error.value.problems]


def test_sizes_follow_from_the_data_set() -> None:
    spec = parse_spec(
        document(
            {**CONV, "pool": {}},
            {**CONV, "filters": 32, "pool": {"pool_size": [2, 3]}},
            {"neurons": 7},
        )
    )
    assert layer_sizes(spec) == [2 * 34 * 34, 12 * 30 * 30, 32 * 11 * 11, 7, 10]
    assert weight_count(spec) == 2 * 25 * 12 + 12 * 25 * 32 + 32 * 5 * 3 * 7 + 7 * 10
    assert parse_spec(spec_to_json(spec)) == spec


@pytest.mark.parametrize(
    ("data", "layer", "size"),
    [
        ({"kind": "dvs_gesture", "pixels_merged": 2}, {**CONV, "padding": "same"}, (64, 64)),
        ({"kind": "digits", "encoding": {"kind": "population"}}, CONV, (4, 4)),
        (
            {
                "kind": "npz",
                "name": "x",
                "channels": 24,
                "classes": 2,
                "steps": 5,
                "shape": [1, 4, 6],
            },
            {**CONV, "kernel_size": [3, 1], "strides": [1, 2]},
            (2, 3),
        ),
        ({"kind": "shd"}, {**CONV, "kind": "conv1d", "kernel_size": 7, "strides": 2}, (1, 347)),
    ],
)
def test_of_every_data_set_with_images(data: Any, layer: Any, size: Any) -> None:
    (geometry,) = conv_geometries(parse_spec(document(layer, data=data)))
    assert geometry.size == size


@pytest.mark.parametrize(
    ("spec", "pointer", "says"),
    [
        (document({**CONV, "kernel_size": 35}), "/network/layers/0", "35 x 35"),
        (document(CONV, {**CONV, "kernel_size": [31, 1]}), "/network/layers/1", "30 x 30"),
        (
            document({**CONV, "pool": {"pool_size": 31}}),
            "/network/layers/0",
            "pool of 31 x 31 does not fit into an output of 30 x 30",
        ),
        (document({**CONV, "groups": 5}), "/network/layers/0/groups", "2 channels"),
        (document({**CONV, "kind": "conv1d"}), "/network/layers/0/kind", "conv2d"),
        (document({"neurons": 5}, CONV), "/network/layers/1/kind", "before"),
        (
            document({**CONV, "kernel_size": 1}, data={"kind": "randman"}),
            "/network/layers/0/kind",
            "height and width",
        ),
        (
            document(
                CONV,
                data={"kind": "npz", "name": "x", "channels": 24, "classes": 2, "steps": 5},
            ),
            "/network/layers/0/kind",
            "data.shape",
        ),
        (
            document(
                CONV,
                data={
                    "kind": "npz",
                    "name": "x",
                    "channels": 24,
                    "classes": 2,
                    "steps": 5,
                    "shape": [1, 5, 5],
                },
            ),
            "/data/shape",
            "25",
        ),
        (
            document({**CONV, "capacity": 4}, network={"reset_on": "emission"}),
            "/network/layers/0/capacity",
            "on state",
        ),
        (document({**CONV, "capacity": 20000}), "/network/layers/0/capacity", "10800"),
        (document({**CONV, "policy": "top"}), "/network/layers/0/policy", "no effect"),
        (
            document(
                CONV,
                training={"regularisers": [{"kind": "membrane", "strength": 1, "high": 2}]},
                device={"kind": "ipu"},
            ),
            "/training/regularisers/0/kind",
            "membranes",
        ),
        (
            document(
                {**CONV, "second_threshold": 0.5}, network={"trainable": ["threshold", "decay"]}
            ),
            "/network/layers/0/second_threshold",
            "trained",
        ),
        (
            document(
                {**CONV, "second_threshold": 0.5, "synapse_decay": 0.5},
                training={"second_threshold_ramp": {"epochs": 1}},
            ),
            "/network/layers/0/second_threshold",
            "rise",
        ),
        (document({**CONV, "decay": [0.5, 0.6]}), "/network/layers/0/decay", "filters"),
        (
            document({**CONV, "threshold": [1.0] * 12, "second_threshold": 0.5}),
            "/network/layers/0/second_threshold",
            "one threshold",
        ),
        (
            document(CONV, CONV, {**CONV, "residual": [1]}),
            "/network/layers/2/residual/0",
            "site by site",
        ),
        (
            document(CONV, {"neurons": 9}, {"neurons": 9, "residual": [1]}),
            "/network/layers/2/residual/0",
            "first dense layer",
        ),
        (
            document({**CONV, "second_threshold": 1.5}),
            "/network/layers/0/second_threshold",
            "above",
        ),
        (
            document(CONV, network={"delay": 1}, export={"nir": [{"target": "norse"}]}),
            "/export/nir/0/target",
            "Delay",
        ),
        (document({**CONV, "neurons": 3}), "/network/layers/0/neurons", ""),
        (document({**CONV, "kind": "conv3d"}), "/network/layers/0/kind", "conv2d"),
        (document({**CONV, "filters": 4096}), "/network/layers/0/filters", "at most"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(spec: Any, pointer: str, says: str) -> None:
    found = problems(spec)
    assert [place for place, _ in found] == [pointer]
    assert says in found[0][1]


DELAYED = [{**CONV, "delay": 2, "pool": {}}, {"neurons": 9, "delays": {"longest": 4}}]


@pytest.mark.parametrize("device", [{"kind": "cpu"}, {"kind": "emulator"}])
def test_layers_behind_convolutions_may_have_delays(device: Any) -> None:
    readout = {"delays": {"longest": 2, "per": "neuron"}}
    spec = parse_spec(document(*DELAYED, network={"delay": 3, "readout": readout}, device=device))
    assert input_delays(spec.network) == [2, 0, 0]
    assert start_shapes(spec)["layer_2_delays"] == (12 * 15 * 15, 9)


def test_delays_that_do_not_fit_are_refused_at_their_place() -> None:
    on_ipu = document(*DELAYED, device={"kind": "ipu"})
    assert [place for place, _ in problems(on_ipu)] == [
        "/network/layers/1/delays",
        "/network/layers/0/delay",
    ]
    # 2,700 senders behind the pool, not the 10,800 neurons in front of it
    most = {**DELAYED[1], "delays": {"longest": 23}}
    parse_spec(document(CONV | {"pool": {}}, most, device={"kind": "emulator"}))
    more = {**DELAYED[1], "delays": {"longest": 24}}
    found = problems(document(CONV | {"pool": {}}, more, device={"kind": "emulator"}))
    assert [place for place, _ in found] == ["/network/layers/1/delays/longest"]


NEURON = {
    "states": [{"name": "u", "update": "decay * u + I", "reset": "where(r, 0, u)"}],
    "parameters": [
        {"name": "decay", "value": 0.9, "trainable": True},
        {"name": "theta", "value": 1.0, "per": "layer", "trainable": True},
    ],
    "spike": "u - theta",
}
OWN = {**CONV, "neuron": NEURON, "pool": {}}
LAYER = "/network/layers/0"


def test_equations_have_parameters_by_filter() -> None:
    dense = {"kind": "equations", "neurons": 7, "neuron": NEURON}
    spec = parse_spec(document(OWN, CONV, dense, {"neurons": 5}))
    assert parse_spec(spec_to_json(spec)) == spec
    shapes = start_shapes(spec)
    assert shapes["layer_1"] == (5, 5, 2, 12)
    assert shapes["layer_1_parameter_decay"] == (12,)
    assert shapes["layer_1_parameter_theta"] == (1,)
    assert shapes["layer_3_parameter_decay"] == (7,)
    listed = {"name": "decay", "value": [0.5] * 12}
    parse_spec(document({**OWN, "neuron": {**NEURON, "parameters": [listed, THETA]}}))


THETA = NEURON["parameters"][1]
RULE = {"bits": 8}
PAIR = {"name": "decay", "value": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("layer", "parts", "pointer"),
    [
        ({**OWN, "decay": 0.5}, {}, f"{LAYER}/decay"),
        ({**OWN, "gain": 2}, {}, f"{LAYER}/gain"),
        ({**OWN, "threshold": 2}, {}, f"{LAYER}/threshold"),
        ({**OWN, "second_threshold": 0.5}, {}, f"{LAYER}/second_threshold"),
        ({**OWN, "synapse_decay": 0.5}, {}, f"{LAYER}/synapse_decay"),
        (
            {**CONV, "standardised": True},
            {"device": {"kind": "ipu"}},
            f"{LAYER}/standardised",
        ),
        ({**CONV, "gate": -0.5}, {}, f"{LAYER}/gate"),
        ({**OWN, "gate": 0.5}, {}, f"{LAYER}/gate"),
        (
            {**OWN, "recurrent": True, "capacity": 100},
            {"device": {"kind": "emulator"}},
            f"{LAYER}/capacity",
        ),
        (
            {**CONV, "recurrent": True},
            {"device": {"kind": "ipu"}},
            f"{LAYER}/recurrent",
        ),
        ({**OWN, "neuron": {**NEURON, "spike": "u - thta"}}, {}, f"{LAYER}/neuron/spike"),
        (
            {
                **OWN,
                "neuron": {**NEURON, "parameters": [{"name": "decay", "value": [1, 2]}, THETA]},
            },
            {},
            f"{LAYER}/neuron/parameters/0/value",
        ),
        (OWN, {"device": {"kind": "ipu"}}, f"{LAYER}/kind"),
        (OWN, {"export": {"nir": [{"target": "norse"}]}}, "/export/nir/0"),
        (
            {**CONV, "recurrent": True},
            {
                "export": {"nir": [{"target": "generic"}]},
                "training": {"regularisers": [{"kind": "membrane"}]},
            },
            "/export/nir/0",
        ),
        (OWN, {"training": {"batch_size": 65536}}, "/training/batch_size"),
    ],
)
def test_misfits_of_equations_have_a_place(layer: Any, parts: Any, pointer: str) -> None:
    assert pointer in [place for place, _ in problems(document(layer, **parts))]


def test_ops_may_follow_convolutions() -> None:
    op = {"kind": "op", "op": "pool_op@sha256:" + "0123456789abcdef" * 4, "neurons": 5}
    spec = parse_spec(document(OWN, op))
    assert senders_of(spec) == [2 * 34 * 34, 12 * 15 * 15, 5]
    average = {**CONV, "pool": {"kind": "average"}}
    found = problems(document(average, op))
    assert [place for place, _ in found] == [f"{LAYER}/pool/kind"]
    parse_spec(document(average, {"neurons": 6}, op))
    on_ipu = problems(document(CONV, op, device={"kind": "ipu"}))
    assert [place for place, _ in on_ipu] == ["/network/layers/1/kind"]
