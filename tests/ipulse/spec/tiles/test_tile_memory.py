"""The prediction of a tile's memory, compared with what the compiler of the emulator finds."""

from __future__ import annotations

import pytest

from benchmarks.emulator.tile_memory import (
    NEAR,
    NETWORKS,
    compare,
    compile_memory,
    draw,
    summary,
)
from ipulse.spec import ExperimentSpec, parse_spec
from ipulse.spec.tile_fit import FACTOR, DoesNotFit, check_fit, tile_fit
from ipulse_core.spec.tile_memory import predict, segments_of
from ipulse_core.spec.tile_placement import TileLayer, TileNetwork, place_neurons, sample_tile
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.poplar.arrays import PoplarLIF
from ipulse_ops.lif.poplar.attributes import Wanted
from ipulse_ops.lif.poplar.outputs import steps_between_checkpoints
from ipulse_ops.lif.poplar.tile_plan import tile_plan
from poplar_emulator.custom_op import CustomOpError
from tests.losses import margin


def test_neurons_are_on_the_tiles_of_the_op() -> None:
    for seed in range(400):
        network, placement, described = draw(seed)
        shape = (described.batch, described.input_slots)
        plan = tile_plan(network, *shape, placement, described.tiles_per_ipu)
        parts = place_neurons(described)
        assert len({(part.ipu, part.tile) for part in parts}) == plan["tiles_used"], f"seed {seed}"
        for number, layer in enumerate(plan["layers"]):
            own = [part for part in parts if part.layer == number]
            assert len(own) == layer["tiles"], f"seed {seed}"
            assert max(part.neurons for part in own) == layer["most_neurons"], f"seed {seed}"
            assert own[0].tile == layer["first_tile"], f"seed {seed}"
            assert sorted({part.ipu for part in own}) == layer["ipus"], f"seed {seed}"


def test_spikes_are_on_the_tiles_of_the_op() -> None:
    """Many steps and few weights: the tiles with a sample's spikes are the fullest."""
    tiles, samples, sources = 256, 2, 3
    network = Network(16, (LIF(16), LIF(16)), LeakyReadout(2))
    with PoplarLIF(network, 600, samples, 16, tiles_per_ipu=tiles) as op:
        compiled = op.op.profile()["compilation"]["tiles"]
    used = [tile["memory"]["total"]["includingGaps"] for tile in compiled]
    fullest = sorted(range(tiles), key=used.__getitem__)[-samples * sources :]
    layers = [TileLayer(16, 16), TileLayer(16, 16), TileLayer(2, 0)]
    described = TileNetwork(16, 16, layers, 600, samples, "capacity", 1, tiles, False)
    expected = {
        sample_tile(described, source, sample)
        for source in range(sources)
        for sample in range(samples)
    }
    assert set(fullest) == expected


def test_as_many_steps_are_run_again_at_a_time_as_the_op_does() -> None:
    for seed in range(400):
        network, placement, described = draw(seed)
        _, length = segments_of(described)
        shape = (described.steps, described.batch)
        assert length == steps_between_checkpoints(network, *shape, Wanted(), placement), seed


@pytest.mark.parametrize("recomputes", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_prediction_is_within_its_factor(seed: int, recomputes: bool) -> None:
    drawn = draw(seed)
    described = drawn.described._replace(recomputes=recomputes)
    predicted = predict(described)
    found = compile_memory(drawn._replace(described=described)).total
    assert found / FACTOR < predicted.fullest_bytes < found * FACTOR, f"seed {seed}"
    assert predicted.least_bytes < found, f"seed {seed}"


@pytest.mark.verify
def test_most_predictions_are_within_a_tenth() -> None:
    """The figures of docs/guides/devices.md."""
    rows = [compare(seed, recomputes=seed % 2 == 1) for seed in range(NETWORKS)]
    off = sorted(max(row["ratio"], 1 / row["ratio"]) for row in rows)
    assert sum(factor <= NEAR for factor in off) >= 0.9 * NETWORKS, summary([*off])
    assert off[-1] < 1.15, summary([*off])


def spec_of(
    neurons: int,
    steps: int,
    loss: object = "mean_membrane_cross_entropy",
    **device: object,
) -> ExperimentSpec:
    return parse_spec(
        {
            "version": 1,
            "data": {"kind": "digits", "steps": steps, "encoding": {"kind": "linear_latency"}},
            "network": {"layers": [{"neurons": neurons}]},
            "training": {"loss": loss},
            "device": {"kind": "emulator", **device},
        }
    )


def test_only_what_certainly_does_not_fit_is_refused() -> None:
    fitting = tile_fit(spec_of(64, 20))
    assert fitting is not None
    assert fitting.verdict == "fits"
    check_fit(spec_of(64, 20))
    doubtful = tile_fit(spec_of(1024, 60))
    assert doubtful is not None
    assert doubtful.verdict == "may_not_fit"
    check_fit(spec_of(1024, 60))
    with pytest.raises(DoesNotFit) as caught:
        check_fit(spec_of(4096, 100))
    assert caught.value.problems[0].pointer == "/device"
    check_fit(spec_of(4096, 100, engine_options={"debug.allowOutOfMemory": "true"}))


def test_what_cannot_fit_is_what_the_compiler_refuses() -> None:
    network = Network(64, (LIF(4096),), LeakyReadout(10))
    with pytest.raises(CustomOpError, match="Out of memory"):
        PoplarLIF(network, 100, 2, 64)


def test_what_recomputing_or_half_makes_fit_is_not_refused() -> None:
    """A sample's spikes of 320 steps do not fit a tile with their surrogates, and do without."""
    with pytest.raises(DoesNotFit, match=r"device\.memory recompute"):
        check_fit(spec_of(256, 320))
    check_fit(spec_of(256, 320, memory="recompute"))
    sizes = {}
    for dtype in ("float32", "float16"):
        fit = tile_fit(spec_of(20_000, 2, training="device", weights_dtype=dtype))
        assert fit is not None
        sizes[dtype] = (fit.least_bytes, fit.fullest_tile_bytes)
    assert sizes["float16"] < sizes["float32"]
    assert sizes["float16"][1] < sizes["float32"][1]


def test_states_of_half_make_checkpoints_smaller() -> None:
    """Many samples and few slots: the checkpoints are much of a tile."""
    network = Network(16, (LIF(128, capacity=8), LIF(128, capacity=8)), LeakyReadout(2))
    layers = [TileLayer(128, 8), TileLayer(128, 8), TileLayer(2, 0)]
    described = TileNetwork(16, 4, layers, 48, 48, "linear", 1, 16, False, recomputes=True)
    found, predicted = [], []
    for states, words in (("float", 1.0), ("half", 0.5)):
        network_of_half = described._replace(state_words=words)
        wanted = Wanted(states=states)
        between = steps_between_checkpoints(network, 48, 48, wanted)
        wanted = Wanted(recompute=between, states=states)
        with PoplarLIF(network, 48, 48, 4, Placement("linear"), wanted, 16) as op:
            tiles = op.op.profile()["compilation"]["tiles"]
        found.append(max(tile["memory"]["total"]["includingGaps"] for tile in tiles))
        predicted.append(predict(network_of_half).fullest_bytes)
    assert found[1] < found[0]
    for size, expected in zip(found, predicted, strict=True):
        assert size / FACTOR < expected < size * FACTOR
    assert predicted[1] < predicted[0]


def test_states_of_half_are_predicted_for_both_devices() -> None:
    for device in ({"training": "device"}, {"kind": "ipu"}):
        sizes = []
        for dtype in ("float32", "float16"):
            fit = tile_fit(spec_of(2048, 2, memory="recompute", states_dtype=dtype, **device))
            assert fit is not None
            sizes.append(fit.fullest_tile_bytes)
        assert sizes[1] < sizes[0]


def test_moments_are_on_the_device_that_updates_weights() -> None:
    """On an IPU the optimizer is part of the program, and on the emulator if the spec says so."""
    sizes = []
    for device in ({}, {"training": "device"}, {"kind": "ipu"}):
        fit = tile_fit(spec_of(2048, 2, **device))
        assert fit is not None
        sizes.append(fit.fullest_tile_bytes)
    on_host, on_emulator, on_ipu = sizes
    assert on_host < on_emulator <= on_ipu


def test_a_loss_with_equations_takes_memory_of_the_device_that_computes_it() -> None:
    sizes = {}
    for place in ("host", "device"):
        own = {"loss": margin(), "training": place}
        fits = [tile_fit(spec_of(64, 100, tiles=16, **each)) for each in ({"training": place}, own)]
        sizes[place] = [fit.fullest_tile_bytes for fit in fits if fit is not None]
    assert sizes["host"][0] == sizes["host"][1]
    assert sizes["device"][0] < sizes["device"][1]


def test_nothing_is_predicted_for_custom_ops() -> None:
    layer = {"kind": "op", "op": f"scale@sha256:{'0' * 64}", "neurons": 65_000}
    device = {"kind": "emulator", "tiles": 8}
    spec = parse_spec({"version": 1, "network": {"layers": [layer]}, "device": device})
    assert tile_fit(spec) is None
    check_fit(spec)


@pytest.mark.parametrize("seed", range(4))
def test_a_large_batch_is_the_sum_of_its_samples(seed: int) -> None:
    described = draw(seed).described._replace(tiles_per_ipu=16, mapping="neurons")
    whole = 24 * (described.tiles_per_ipu - 1)  # all tiles, and all bits of a word of resets

    def fullest(batches: int) -> int:
        return predict(described._replace(batch=batches * whole)).fullest_bytes

    first, second, third = fullest(2) - fullest(1), fullest(3) - fullest(2), fullest(4) - fullest(3)
    assert first > 0
    assert second == pytest.approx(first, abs=2)
    assert third == pytest.approx(first, abs=2)
