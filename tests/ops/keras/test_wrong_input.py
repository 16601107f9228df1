"""Frequent mistakes: each raises an error that says what to do."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
import pytest
import tensorflow as tf

from ipulse_ops import sparse
from ipulse_ops.keras import (
    LIF,
    DenseLIFCell,
    LeakyReadout,
    LIFLayer,
    LIFReadout,
    MultiLIF,
    SparseLIFCell,
    SuperSpike,
    pack_spikes,
)
from ipulse_ops.reference.spikes import dense_to_sparse

INVALID = (ValueError, tf.errors.InvalidArgumentError)
DENSE = (np.random.Generator(np.random.PCG64(5)).random((6, 3, 20)) < 0.5).astype(np.float32)
IDS, COUNTS = dense_to_sparse(DENSE)


def net(**changed: Any) -> MultiLIF:
    fields: Dict[str, Any] = {"inputs": 20, "layers": [LIF(9)], "readout": LeakyReadout(4)}
    return MultiLIF(**{**fields, **changed})


def with_first(value: float) -> np.ndarray:
    """The ids as float32, but for the first that is looked at."""
    ids = IDS.astype(np.float32)
    ids[0, 0, 0] = value
    return ids


@pytest.mark.parametrize(
    ("spikes", "message"),
    [
        ((DENSE[..., :5],), r"the last has 20 channels; got shape \(6, 3, 5\)"),
        ((DENSE[:, 0],), "three axes"),
        ((IDS,), "Spikes as ids need their counts"),
        (((IDS, COUNTS, COUNTS),), "ids and counts, or dense; got 3 tensors"),
        (
            (tf.ragged.constant([[[1], [2, 3]]]), np.ones((1, 2))),
            r"RaggedTensor: its to_tensor\(\)",
        ),
        ((IDS > 0, COUNTS), "ids must be whole numbers; got bool"),
        ((IDS, COUNTS.astype(str)), "counts must be whole numbers; got string"),
        ((IDS.astype(np.int64) + 2**32, COUNTS), r"ids\[0, 0, 0\] is"),
        ((IDS.astype(np.uint32) + np.uint32(2**31), COUNTS), r"ids\[0, 0, 0\] is"),
        ((with_first(2.5), COUNTS), r"ids\[0, 0, 0\] is"),
        ((with_first(np.nan), COUNTS), r"ids\[0, 0, 0\] is"),
        ((IDS, COUNTS.astype(np.int64) + 2**32), r"counts\[0, 0\] is"),
        ((IDS, COUNTS + 0.5), r"counts\[0, 0\] is"),
        ((IDS, COUNTS[:, :1]), r"\[time, batch, 2\]; got shapes \(6, 3, \d+\) and \(6, 1\)"),
        ((DENSE.astype(str),), "dense spikes must be numbers; got string"),
    ],
)
def test_spikes(spikes: Any, message: str) -> None:
    assert COUNTS[0, 0] > 0
    with pytest.raises(INVALID, match=message):
        net()(*spikes)


@pytest.mark.parametrize("time_major", [True, False])
def test_a_stack_with_two_orders_of_axes(time_major: bool) -> None:
    layer = LIFLayer(20, LIF(9), time_major=not time_major)
    readout = LIFReadout(9, LeakyReadout(4), time_major=time_major, name="last")
    spikes = layer(tf.keras.Input((6, 20)))
    for results in (layer(DENSE), spikes):
        with pytest.raises(ValueError, match=r"last has the (time|batch) first.*same time_major"):
            readout(results)


@pytest.mark.old_python
@pytest.mark.parametrize("backend", ["cpu", "numpy"])
def test_xla_is_named(backend: str) -> None:
    layer, ids = net(backend=backend), tf.constant(IDS)
    for run in (
        lambda: layer(ids, COUNTS).membrane,
        lambda: sparse.sparse_to_dense(ids, COUNTS, 20),
    ):
        with pytest.raises(NotImplementedError, match="remove jit_compile"):
            tf.function(run, jit_compile=True)()
        assert tf.function(run)() is not None


def test_dense_spikes_of_the_reference_need_no_op() -> None:
    dense, made = tf.Variable(DENSE), [net(backend=backend) for backend in ("cpu", "numpy")]
    made[1].set_weights(made[0].get_weights())
    results = []
    for one in made:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((one(tf.convert_to_tensor(dense)).membrane + 1) ** 2)
        results.append([loss, tape.gradient(loss, dense)])
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-4)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-4, atol=1e-5)
    assert np.any(results[0][1])
    with pytest.raises(INVALID, match="must be 0 or 1"):
        made[1](DENSE / 2)


def test_slots_after_the_count_are_not_checked() -> None:
    ids = IDS.astype(np.float64)
    ids[np.arange(ids.shape[2]) >= COUNTS[..., None]] = np.nan
    made = net()
    same = made(ids, COUNTS.astype(np.int64)).membrane
    np.testing.assert_array_equal(same, made(IDS, COUNTS).membrane)


@pytest.mark.old_python
def test_channels_that_tracing_does_not_know() -> None:
    made = net()
    traced = tf.function(lambda x: made(x).membrane).get_concrete_function(
        tf.TensorSpec([6, 3, None], tf.float32)
    )
    np.testing.assert_array_equal(traced(tf.constant(DENSE)), made(DENSE).membrane)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have 20 channels"):
        traced(tf.constant(DENSE[..., :5]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"layers": LIF(9)}, "layers must be a list of LIF"),
        ({"layers": [9]}, r"layers\[0\] must be LIF; got 9"),
        ({"layers": [LeakyReadout(9)]}, r"layers\[0\] must be LIF; got LeakyReadout"),
        ({"readout": 4}, "readout must be LIF or LeakyReadout; got 4"),
        ({"surrogate": SuperSpike}, "surrogate must be SuperSpike or .*; got <class"),
        ({"seed": 1.5}, r"seed must be 0 to 2\^64 - 1; got 1.5"),
        ({"surrogate": "table"}, "surrogate table: missing 2 required .*'values' and 'width'"),
        ({"surrogate": {"kind": "arctan", "slop": 1}}, "surrogate arctan: .*'slop'"),
        ({"threads": -1}, "threads must be at least 0; got -1"),
        ({"threads": None}, "threads must be a whole number; got None"),
        ({"placement": 3}, "placement must be Placement; got 3"),
        ({"tiles_per_ipu": 0}, "tiles_per_ipu must be at least 1; got 0"),
        ({"time_major": "no"}, "time_major must be True or False; got 'no'"),
        ({"return_membranes": 1}, "return_membranes must be True or False; got 1"),
        ({"trainable": None}, "trainable must name constants, or list them; got None"),
        ({"trainable": ["decay", ["decay"]]}, r"trainable\[0\] must be a list of names; got 'dec"),
        ({"dtype": "float64"}, "dtype must be float32, as the ops are; got float64"),
    ],
)
def test_arguments(changed: Dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        net(**changed)


def test_layers_in_each_others_place() -> None:
    with pytest.raises(ValueError, match="layer must be LIF; LIFReadout has leaky integrators"):
        LIFLayer(20, LeakyReadout(3))
    assert LIFLayer(20, {"neurons": 3}).network.readout == LIF(3)
    assert net(readout={"neurons": 4, "capacity": 2}).network.readout == LIF(4, capacity=2)
    with pytest.raises(ValueError, match=r"readout must be LeakyReadout; .*; got 3"):
        LIFReadout(20, 3)
    with pytest.raises(ValueError, match="no layer has a threshold to train"):
        LIFReadout(20, LeakyReadout(3), trainable="threshold")
    with pytest.raises(ValueError, match="layer 1 has a decay of 1, which cannot be trained"):
        LIFReadout(20, LeakyReadout(3, decay=1.0), trainable="decay")


def test_dense_cell_of_other_channels() -> None:
    cell = DenseLIFCell(inputs=20, layers=[LIF(9)], readout=LeakyReadout(4))
    with pytest.raises(ValueError, match="dense spikes of 20 channels"):
        tf.keras.layers.RNN(cell)(np.zeros((3, 6, 7), np.float32))


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("kind", [DenseLIFCell, SparseLIFCell])
def test_cells_given_spikes_of_the_other_kind(kind: Any, traced: bool) -> None:
    """In eager steps and in graphs, also where the first samples are silent."""
    cell = kind(inputs=20, layers=[LIF(9)], readout=LeakyReadout(4))
    rnn = tf.keras.layers.RNN(cell)
    run = tf.function(rnn) if traced else rnn
    dense = DENSE.copy()
    dense[:, 0] = 0
    packed = pack_spikes(*sparse.dense_to_sparse(dense, capacity=18))
    assert packed.shape == dense.shape
    right, wrong = (dense, packed) if kind is DenseLIFCell else (packed, tf.constant(dense))
    assert np.any(run(tf.constant(right)))
    with pytest.raises(INVALID, match=r"must be 0 or 1|pack_spikes\("):
        run(wrong)
    run(tf.zeros_like(wrong))
    if kind is DenseLIFCell:
        for value in (0.5, np.nan):
            with pytest.raises(INVALID, match="must be 0 or 1"):
                run(tf.constant(dense * np.float32(value)))


def test_a_seed_of_a_call() -> None:
    for seed in (1.5, tf.constant([1, 2], tf.int64)):
        with pytest.raises(INVALID, match="seed must be one whole number; got"):
            net()(IDS, COUNTS, seed=seed)


def test_packed_spikes_of_other_shapes() -> None:
    with pytest.raises(ValueError, match=r"counts must have .* \(6, 3\), .*; got \(6, 2\)"):
        pack_spikes(IDS, COUNTS[:, :2])
    cell = DenseLIFCell(inputs=20, layers=[LIF(9)], readout=LeakyReadout(4))
    with pytest.raises(ValueError, match=r"must have 22 values in their last axis; got .*\(3, 5\)"):
        cell.unpack(np.zeros((3, 5), np.float32))


@pytest.mark.old_python
def test_a_gradient_of_a_gradient() -> None:
    made = net()
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_sum(made(IDS, COUNTS).membrane ** 2)
        (first, *_) = inner.gradient(loss, made.trainable_weights)
        square = tf.reduce_sum(first**2)
    with pytest.raises(NotImplementedError, match="second-order gradients"):
        outer.gradient(square, made.trainable_weights)
