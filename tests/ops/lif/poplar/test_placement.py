"""How networks are placed on tiles and IPUs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Dict, List

import numpy as np
import pytest

from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.placement import MAPPINGS, SPLITS, Placement
from ipulse_ops.lif.poplar.tile_plan import tile_plan
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from tests.ops.lif.poplar.test_network import network_of
from tests.ops.lif.poplar.variants import (
    assert_bit_equal,
    assert_gradients,
    compiled,
    run_both,
    run_reference,
)
from tests.ops.strategies import random_problem


def _between_ipus(
    totals: List[Dict[str, Any]], names: Dict[int, str], turns: int
) -> Dict[str, float]:
    """Bytes from IPU to IPU in a turn of the time loop, by the compute set that is sent them."""
    results: Dict[str, float] = {}
    for total in totals:
        if total["executions"] == turns and total["bytesBetweenIpus"]:
            name = re.sub("(layer[0-9]|readout|all_layers)/", "", names[total["program"]])
            results[name] = results.get(name, 0) + total["bytesBetweenIpus"] / turns
    return results


class TestPlacement:
    # Four layers with whatever crosses a layer's border: resets recorded, own spikes, synapses.
    network = Network(
        inputs=13,
        layers=tuple(
            LIF(neurons=n, decay=0.75, gain=4.0, capacity=5, recurrent=True, second_threshold=0.5)
            for n in (12, 9, 10)
        ),
        readout=LeakyReadout(neurons=4, decay=0.5, gain=2.0, synapse_decay=0.5),
        reset_gradient="mask",
    )

    @pytest.mark.parametrize("delay", [0, 1])
    def test_mappings_and_numbers_of_ipus_give_the_same_results(self, delay: int) -> None:
        network = replace(self.network, delay=delay)
        problem = random_problem(network, seed=5, steps=5, batch=7)
        results = []
        many = [Placement(ipus=ipus, split=split) for ipus in (2, 4) for split in SPLITS]
        for placement in [*map(Placement, MAPPINGS), *many]:
            with compiled(problem, placement) as op:
                run, trace = run_both(op, problem)
                assert_gradients(op, problem, trace)
                results.append(run)
        assert any(layer.dropped.any() for layer in results[0].layers)
        for other in results[1:]:
            np.testing.assert_array_equal(results[0].membrane, other.membrane)
            for layer, same in zip(results[0].layers, other.layers):
                for ours, theirs in zip(layer, same):
                    np.testing.assert_array_equal(ours, theirs)

    def test_only_spikes_cross_between_ipus(self) -> None:
        network = replace(self.network, delay=1)
        steps, batch = 5, 7
        problem = random_problem(network, seed=5, steps=steps, batch=batch)
        with compiled(problem, Placement(ipus=4)) as op:
            op.forward(problem.weights, problem.ids, problem.counts)
            totals = op.op.profile()["execution"]["totals"]
            op.backward(problem.grad_membrane)
            after = op.op.profile()["execution"]["totals"]
            names = {one["_id"]: one["name"] for one in op.op.profile()["compilation"]["programs"]}
        plan = tile_plan(network, batch, problem.ids.shape[2], Placement(ipus=4), tiles_per_ipu=12)
        assert [layer["ipus"] for layer in plan["layers"]] == [[0], [1], [2], [3]]
        # Per sample, from three IPUs to the next: 6 slots of 2 bytes and 2 counts of 4 bytes.
        ids, counts = 3 * batch * 6 * 2, 3 * batch * 2 * 4
        assert _between_ipus(totals, names, steps) == {"cross/ids": ids, "cross/counts": counts}
        # Backward they cross again, with 8 numbers of where the workers' shares begin; so do the
        # sums of their gradients.
        crossing = _between_ipus(after, names, steps + 1)
        assert crossing.pop("backward/slot_gradients") > 0
        assert crossing == {
            "backward/cross/ids": ids,
            "backward/cross/counts": counts + 3 * batch * 8 * 4,
        }

    def test_capacity_balances_what_neurons_does_not(self) -> None:
        # The first layer's neurons are sent 100 slots, the second's 4.
        layer = LIF(neurons=300, capacity=4)
        network = Network(inputs=400, layers=(layer, layer), readout=LeakyReadout(neurons=4))
        balance = {
            mapping: tile_plan(network, 8, 100, Placement(mapping), 64)["load_balance"]
            for mapping in MAPPINGS
        }
        assert balance["capacity"] > 0.85
        assert balance["neurons"] < 0.7

    @pytest.mark.parametrize("delay", [0, 1])
    def test_only_ids_and_counts_cross_between_parts_of_a_layer(self, delay: int) -> None:
        network = replace(self.network, delay=delay)
        steps, batch = 5, 7
        problem = random_problem(network, seed=5, steps=steps, batch=batch)
        placement = Placement(ipus=2, split="neurons")
        with compiled(problem, placement) as op:
            op.forward(problem.weights, problem.ids, problem.counts)
            profile = op.op.profile()
        names = {one["_id"]: one["name"] for one in profile["compilation"]["programs"]}
        slots = problem.ids.shape[2]
        plan = tile_plan(network, batch, slots, placement, tiles_per_ipu=12)
        assert [layer["ipus"] for layer in plan["layers"]] == [[0, 1]] * 4
        # Per sample and direction, for three layers: 6 ids of 2 bytes, 2 counts of 4 bytes;
        # the input's, to the second IPU.
        assert _between_ipus(profile["execution"]["totals"], names, steps) == {
            "cross/ids": batch * (slots + slots % 2) * 2,
            "cross/counts": batch * 2 * 4,
            "cross/candidates/ids": 3 * 2 * batch * 6 * 2,
            "cross/candidates/counts": 3 * 2 * batch * 2 * 4,
        }

    def test_what_cannot_be_split_is_refused(self) -> None:
        problem = random_problem(network_of(policy="top", capacity=2), seed=0)
        with pytest.raises(UnsupportedNetwork, match="no more IPUs than layers"):
            compiled(problem, Placement(ipus=4, split="layers"))
        with pytest.raises(UnsupportedNetwork, match="only ids are sent between IPUs"):
            compiled(problem, Placement(ipus=4))
        with pytest.raises(ValueError, match="layers, neurons or None; got spikes"):
            Placement(split="spikes")


class TestSize:
    def test_vertices_do_not_grow_with_neurons_times_samples(self) -> None:
        def vertices(neurons: int, batch: int) -> int:
            network = network_of(neurons, capacity=8)
            problem = random_problem(network, seed=0, steps=2, batch=batch)
            with compiled(problem, tiles=24) as op:
                return int(op.op.profile()["compilation"]["graph"]["numVertices"])

        few, samples = vertices(32, 6), vertices(32, 24)
        neurons, both = vertices(256, 6), vertices(256, 24)
        assert neurons - few < 24 * 5  # more neurons: fuller tiles, some more chunks
        assert both - few < 1.5 * (neurons - few + samples - few)

    @pytest.mark.verify
    def test_the_network_of_the_benchmarks_fits_one_ipu(self) -> None:
        layer = LIF(neurons=1466, decay=0.5, gain=2.0, capacity=14, second_threshold=0.5)
        readout = LeakyReadout(neurons=10, decay=0.5, gain=2.0)
        network = Network(inputs=2312, layers=(layer, layer), readout=readout, delay=1)
        problem = random_problem(network, seed=1, steps=3, batch=4, slots=32, dyadic=True)
        with compiled(problem, tiles=1472) as op:
            run, trace = run_both(op, problem)
            assert_bit_equal(run, run_reference(problem))
            assert_gradients(op, problem, trace)
            assert all(layer.spike_counts[..., 0].any() for layer in run.layers)
            tiles = op.op.profile()["compilation"]["tiles"]
        assert max(tile["memory"]["total"]["includingGaps"] for tile in tiles) < 638976
