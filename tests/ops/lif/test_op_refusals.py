"""Arguments that the TensorFlow op refuses."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops.keras.multi_lif import MultiLIF
from ipulse_ops.lif.network import LIF, LeakyReadout, Network
from ipulse_ops.lif.run_options import RunOptions
from ipulse_ops.lif.tensorflow_op import run_network
from tests.ops.lif.conftest import NETWORK
from tests.ops.lif.test_tensorflow_op import gradient
from tests.ops.strategies import Problem, random_problem

INVALID = (ValueError, tf.errors.InvalidArgumentError)


class TestBadInput:
    @pytest.mark.old_python
    def test_ids_out_of_range_are_named(self, problem: Problem) -> None:
        ids, counts = problem.ids.copy(), np.full_like(problem.counts, 10)
        ids[3, 2, 1] = 30
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"ids\[3, 2, 1\] is 30; .* 29"):
            run_network(NETWORK, problem.weights, ids, counts)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"ids\[3, 2, 1\] is 30; .* 29"):
            tf.function(lambda: run_network(NETWORK, problem.weights, ids, counts).membrane)()

    def test_counts_out_of_range_are_named(self, problem: Problem) -> None:
        counts = problem.counts.copy()
        counts[1, 4] = 11
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"counts\[1, 4\] is 11; .* 10"):
            run_network(NETWORK, problem.weights, problem.ids, counts)

    @pytest.mark.parametrize(
        ("ids", "counts"), [((12, 5), (12, 5)), ((12, 5, 3), (12, 4)), ((12, 5, 3), (12, 5, 1))]
    )
    def test_shapes_that_do_not_fit(
        self, problem: Problem, ids: Tuple[int, ...], counts: Tuple[int, ...]
    ) -> None:
        spikes = np.zeros(ids, np.int32), np.zeros(counts, np.int32)
        with pytest.raises(INVALID, match="must be"):
            run_network(NETWORK, problem.weights, *spikes)
        with pytest.raises(INVALID):
            tf.function(lambda: run_network(NETWORK, problem.weights, *spikes).membrane)()

    def test_weights_that_do_not_fit(self, problem: Problem) -> None:
        for number, message in ((0, "must have"), (1, "must have"), (3, "must have")):
            weights = [
                matrix[:-1, :-1] if i == number else matrix
                for i, matrix in enumerate(problem.weights)
            ]
            with pytest.raises(INVALID, match=message):
                run_network(NETWORK, weights, problem.ids, problem.counts)

    @pytest.mark.parametrize("backend", ["cpu", "numpy"])
    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("decay", 1.5, "decay.* must be at least 0 and at most 1"),
            ("decay", -0.5, "decay.* must be at least 0 and at most 1"),
            ("decay", np.nan, "decay.* must be"),
            ("synapse_decay", 1.0, "synapse_decay.* must be at least 0 and less than 1"),
            ("threshold", 0.25, "second_threshold.* must not be above (the )?threshold"),
            ("threshold", np.nan, "threshold.* (must be finite|is no number)"),
            ("second_threshold", 1.5, "second_threshold.* must not be above (the )?threshold"),
            ("adaptation_decay", 1.0, "adaptation_decay.* must be at least 0 and less than 1"),
            ("adaptation_strength", -0.5, "adaptation_strength.* must be at least 0"),
            ("adaptation_strength", np.nan, "adaptation_strength.* must be"),
            ("gain", 1.0, "layer 1 has no gain to give"),
        ],
    )
    def test_constants_out_of_range(
        self, backend: str, name: str, value: float, message: str
    ) -> None:
        layer = LIF(
            3,
            second_threshold=0.5,
            synapse_decay=0.5,
            adaptation_strength=0.5,
            adaptation_decay=0.5,
        )
        network = Network(inputs=2, layers=(layer,), readout=LeakyReadout(2))
        weights = [np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)]
        spikes = np.zeros((1, 1, 1), np.int32), np.ones((1, 1), np.int32)
        given = [{name: np.full(3, value, np.float32)}, {}]
        with pytest.raises(INVALID, match=message):
            run_network(network, weights, *spikes, RunOptions(backend=backend, constants=given))
        given[0][name] = given[0][name][:2]
        with pytest.raises(ValueError, match=rf"constants\[0\]: {name} must have|has no gain"):
            run_network(network, weights, *spikes, RunOptions(backend=backend, constants=given))

    @pytest.mark.parametrize("name", ["backend", "memory", "weights_dtype", "threads"])
    def test_unknown_options(self, problem: Problem, name: str) -> None:
        options = {name: "all"}
        with pytest.raises(ValueError, match=f"{name} must be .*all"):
            run_network(
                NETWORK, problem.weights, problem.ids, problem.counts, RunOptions(**options)
            )

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"states_dtype": "float16"}, "only the Poplar op"),
            ({"stochastic_rounding": True}, "float32 are not rounded"),
        ],
    )
    def test_half_states_where_there_are_none(
        self, problem: Problem, options: Dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            run_network(
                NETWORK, problem.weights, problem.ids, problem.counts, RunOptions(**options)
            )
        with pytest.raises(ValueError, match=message):
            MultiLIF(**vars(NETWORK), **options)

    def test_a_decay_that_float32_takes_for_1(self) -> None:
        """It is used as the largest float32 below 1."""
        almost = LIF(2, decay=1 - 1e-9, gain=1e9, synapse_decay=1 - 1e-9)
        network = Network(inputs=1, layers=(almost,), readout=LeakyReadout(1))
        weights = [np.ones((1, 2), np.float32), np.ones((2, 1), np.float32)]
        out = run_network(network, weights, np.zeros((4, 1, 1)), np.ones((4, 1)))
        assert np.isfinite(out.membrane).all()

    def test_an_empty_batch_is_no_error(self) -> None:
        empty = random_problem(NETWORK, seed=4, steps=12, batch=0, slots=10)
        out, grads = gradient(empty)
        assert out.membrane.shape.as_list() == [12, 0, 6]
        assert all(not np.any(grad) for grad in grads)
