"""A whole network of LIF layers as one Keras layer."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import tensorflow as tf

from ipulse_core.ipu import MK2_TILES
from ipulse_ops.keras.arguments import shows_inherited_arguments
from ipulse_ops.keras.network_layer import NetworkLayer
from ipulse_ops.keras.packing import listed_spikes
from ipulse_ops.keras.weights_in_use import (
    Standardising,
    match_deviations,
    standardised_layers,
    weights_in_use,
)
from ipulse_ops.lif.cpu_op import MEMORIES
from ipulse_ops.lif.network import LIF, Layer
from ipulse_ops.lif.placement import Placement
from ipulse_ops.lif.run_options import LIFOutputs, OnLayer, RunOptions, check_states
from ipulse_ops.lif.tensorflow_op import BACKENDS, run_network
from ipulse_ops.lif.weight_types import WEIGHT_TYPES
from ipulse_ops.lif.weights import weight_shapes
from ipulse_ops.quantisation import Quantising, quantisation_of
from ipulse_ops.sparse.seed import word64
from ipulse_ops.validation import choice, flag, instance, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ipulse_ops.keras.arguments import NetworkArguments


class SequenceLayer(NetworkLayer):
    """A NetworkLayer that runs whole sequences in one op.

    A call takes input spikes: ids `[time, batch, slots]` and counts `[time, batch]` or, as another
    layer returns them, `[time, batch, 2]`; a pair of both; or dense spikes `[time, batch, inputs]`
    of zeros and ones. float32 ids receive a gradient, including those of gradient-only neurons.

    inputs, layers, readout, reset, reset_gradient, reset_on, delay, surrogate, truncate, trainable,
    seed: as for NetworkLayer. A call may pass another `seed`, a number or an int64 tensor.
    threads: 0 for all processors that the process may use; results do not depend on it.
    memory: what is stored for the backward pass: "slots", the membranes that carry gradient;
        "recompute", the spikes alone, from which the layers are run again; on emulated and real
        IPUs also the states at some steps.
    weights_dtype: "bfloat16" rounds the weights to it for each run; their packed copies then take
        two bytes per weight. The variables, sums and training stay float32.
    states_dtype, stochastic_rounding: "float16" stores membranes and synapses in two bytes between
        time steps, rounded to the nearest number or at random by the seed; only on "emulator" and
        "ipu".
    quantisation: the rule by which each run replaces matrices by integers times a scale, for all
        layers, or one or None for each layer and the readout. Biases, sums and training stay
        float32; the gradient passes straight through. Only with weights_dtype "float32".
    standardised: True replaces the input weights of each neuron by standardised ones times a
        trained standard deviation, before they are quantised; or one flag for each layer and the
        readout. The equations are in ipulse_ops.reference.standardisation.
    return_membranes: True adds the membranes of every hidden layer to the outputs.
    input_scale: factor of the first layer's input weights, as after an average pool.
    time_major: False puts the batch axis before the time axis, in inputs and outputs.
    backend: "numpy" runs the float64 reference, slowly and without a compiler; "emulator" runs the
        Poplar op on emulated IPUs, "ipu" on IPUs with Graphcore's TensorFlow. The last two need
        static shapes.
    placement: how the Poplar op maps the network to tiles, and to how many IPUs.
    tiles_per_ipu: number of tiles of an emulated IPU.

    With `training=True`, as in `fit`, layers with `dropout` ignore some of their senders. Each such
    call has other masks: those of the `seed` it passes, or else of the layer's seed and a counter,
    a variable that is saved with the weights. Layers of a stack need different seeds.

    Layers with `delays` that are `rounded` use whole steps unless `training=True`.

    With `training=False` nothing is stored for a backward pass, and computing a gradient is an
    error.

    Raises ValueError if an argument is out of range, and what
    ipulse_ops.lif.tensorflow_op.run_network raises.
    """

    def __init__(
        self,
        inputs: int,
        layers: Sequence[Union[LIF, Dict[str, Any]]],
        readout: Union[Layer, Dict[str, Any]],
        *,
        threads: int = 0,
        memory: str = "slots",
        weights_dtype: str = "float32",
        states_dtype: str = "float32",
        stochastic_rounding: bool = False,
        quantisation: Quantising = None,
        standardised: Standardising = False,
        return_membranes: bool = False,
        input_scale: float = 1.0,
        time_major: bool = True,
        backend: str = "cpu",
        placement: Union[Placement, Dict[str, Any]] = Placement(),
        tiles_per_ipu: int = MK2_TILES,
        **kwargs: Unpack[NetworkArguments],
    ) -> None:
        super().__init__(inputs, layers, readout, **kwargs)
        self.threads = whole("threads", threads, 0)
        self.memory = choice("memory", memory, tuple(MEMORIES))
        self.weights_dtype = choice("weights_dtype", weights_dtype, WEIGHT_TYPES)
        self._rules = quantisation_of(quantisation, len(self._all))
        if any(self._rules) and self.weights_dtype != "float32":
            raise ValueError("quantised weights are not rounded again: use weights_dtype float32")
        self._deviations = self._add_deviations(standardised_layers(standardised, len(self._all)))
        self.return_membranes = flag("return_membranes", return_membranes)
        self.input_scale = float(input_scale)
        self.time_major = flag("time_major", time_major)
        self.backend = choice("backend", backend, tuple(BACKENDS))
        check_states(states_dtype, stochastic_rounding, self.backend)
        self.states_dtype, self.stochastic_rounding = states_dtype, stochastic_rounding
        self.placement = Placement(**placement) if isinstance(placement, dict) else placement
        instance("placement", self.placement, Placement)
        self.tiles_per_ipu = whole("tiles_per_ipu", tiles_per_ipu)
        # Called with the number of each layer, from 0, before it is run alone.
        self.on_layer: OnLayer = lambda number: None

    def run(
        self,
        ids: Any,
        counts: Optional[Any] = None,
        training: Optional[bool] = None,
        seed: Optional[Any] = None,
    ) -> LIFOutputs:
        """Run the network and return all of its results."""
        ids, counts = self.entering(ids, counts)
        weights = self._weights_in_use(bool(training))
        if self.input_scale != 1:
            weights[0] = weights[0] * self.input_scale
        options = RunOptions(
            backend=self.backend,
            threads=self.threads,
            keep=training is None or bool(training),
            constants=self.constants_in_use(),
            seed=self.seed if seed is None else seed,
            dropout_seed=self._next_mask(seed) if training else None,
            memory=self.memory,
            weights_dtype=self.weights_dtype,
            states_dtype=self.states_dtype,
            stochastic_rounding=self.stochastic_rounding,
            return_membranes=self.return_membranes,
            placement=self.placement,
            tiles_per_ipu=self.tiles_per_ipu,
            on_layer=self.on_layer,
        )
        outputs = run_network(self.network, weights, ids, counts, options)
        return outputs if self.time_major else tf.nest.map_structure(_swapped, outputs)

    def _next_mask(self, seed: Optional[Any]) -> Optional[Any]:
        """Return the seed of the dropout of a training step; None without dropout."""
        if self._dropout_step is None or seed is not None:
            return seed
        self._dropout_step.assign_add(1)
        turned = (self.seed << 32 | self.seed >> 32) % 2**64  # leaves 2^32 steps to a small seed
        return word64(turned) + tf.convert_to_tensor(self._dropout_step)

    def entering(self, ids: Any, counts: Optional[Any]) -> Tuple[Any, Any]:
        """Convert the arguments of a call to ids and counts with the time first."""
        if counts is None and isinstance(ids, (tuple, list)):
            if len(ids) != 2:
                raise ValueError(f"spikes must be ids and counts, or dense; got {len(ids)} tensors")
            ids, counts = ids
        if isinstance(ids, (tf.RaggedTensor, tf.SparseTensor)):
            raise ValueError(
                f"spikes must be ids and counts, or dense; got a {type(ids).__name__}: "
                "its to_tensor() or tf.sparse.to_dense makes it dense"
            )
        if counts is None:
            ids, counts = listed_spikes(ids, self.network.inputs, self.backend)
        return (ids, counts) if self.time_major else (_swapped(ids), _swapped(counts))

    def _weights_in_use(self, training: bool) -> List[Any]:
        """Return the weights as runs read them: matrices may be standardised and quantised."""
        shapes = weight_shapes(self.network)
        found = weights_in_use(self._kernels, shapes, self._deviations, self._rules)
        for number, shape in enumerate(shapes):
            delays = self._all[shape.layer].delays
            if shape.role == "delays" and delays and delays.rounded and not training:
                found[number] = tf.round(found[number])
        return found

    @property
    def deviations(self) -> List[Optional[Any]]:
        """The trained standard deviation `[neurons]` per layer and readout; None without one."""
        return list(self._deviations)

    def set_kernels(self, arrays: Sequence[np.ndarray]) -> None:
        """Set the weights, and the standard deviations to those of the weights."""
        super().set_kernels(arrays)
        self.match_deviations()

    def match_deviations(self) -> None:
        """Set the trained standard deviations to those of the weights."""
        match_deviations(self._kernels, weight_shapes(self.network), self._deviations)

    def _add_deviations(self, chosen: Sequence[bool]) -> Tuple[Any, ...]:
        with tf.name_scope(self.name):  # Keras 2 names by it; two layers' names must differ
            return tuple(
                self._variable(f"weight_std_{number}", shape=(layer.neurons,), initializer="ones")
                if is_chosen
                else None
                for number, (layer, is_chosen) in enumerate(zip(self._all, chosen), start=1)
            )

    def get_config(self) -> Dict[str, Any]:
        """Return the arguments as plain JSON values."""
        return {
            **super().get_config(),
            "threads": self.threads,
            "memory": self.memory,
            "weights_dtype": self.weights_dtype,
            "states_dtype": self.states_dtype,
            "stochastic_rounding": self.stochastic_rounding,
            "quantisation": [None if rule is None else asdict(rule) for rule in self._rules],
            "standardised": [deviation is not None for deviation in self._deviations],
            "return_membranes": self.return_membranes,
            "input_scale": self.input_scale,
            "time_major": self.time_major,
            "backend": self.backend,
            "placement": asdict(self.placement),
            "tiles_per_ipu": self.tiles_per_ipu,
        }


@shows_inherited_arguments
@tf.keras.utils.register_keras_serializable("ipulse")
class MultiLIF(SequenceLayer):
    """Layers of LIF neurons and a readout: `net(ids, counts)` returns LIFOutputs.

    It has the arguments of SequenceLayer. The equations are those of
    ipulse_ops.lif.reference.network_pass.

    Example:
        >>> import numpy as np
        >>> from ipulse_ops.keras import LIF, LeakyReadout, MultiLIF
        >>> net = MultiLIF(inputs=30, layers=[LIF(neurons=20)], readout=LeakyReadout(neurons=10))
        >>> spikes = np.random.default_rng(1).random((50, 4, 30)) < 0.1
        >>> outputs = net(spikes.astype("float32"))
        >>> outputs.membrane.shape
        TensorShape([50, 4, 10])
    """

    def call(
        self,
        ids: Any,
        counts: Optional[Any] = None,
        training: Optional[bool] = None,
        seed: Optional[Any] = None,
    ) -> LIFOutputs:
        """Run the network on spikes, as SequenceLayer describes them."""
        return self.run(ids, counts, training, seed)


def _swapped(tensor: Any) -> Any:
    """Exchange the time axis and the batch axis."""
    tensor = tf.convert_to_tensor(tensor)
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])
