"""Layers, optimizers, surrogates, schedules and devices of an `Experiment`.

Written by `python -m ipulse.experiment.stubs`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .part import Array, SpecPart

def LIF(
    neurons: int,
    *,
    name: str | None = None,
    trained: bool = True,
    capacity: int | Mapping[str, Any] | None = None,
    policy: Literal['index', 'cyclic', 'top'] = ...,
    bias: bool = False,
    dropout: float = 0.0,
    standardised: bool = False,
    quantisation: Mapping[str, Any] | None = None,
    delay: int | Mapping[str, Any] | None = None,
    decay: float | Sequence[float] | Array = 0.95,
    gain: float = 10.0,
    synapse_decay: float | Sequence[float] | Array | None = None,
    threshold: float | Sequence[float] | Array = 1.0,
    second_threshold: float | Sequence[float] | Array | None = None,
    adaptation: Mapping[str, Any] | None = None,
    recurrent: bool = False,
    skips: Sequence[str] = ...,
) -> SpecPart:
    """A hidden layer. Leaky integrate-and-fire neurons. A constant is one number, or a list with
    one number per neuron, in a convolution per filter.

    Every neuron, or input channel, of the layer before is connected with every neuron.

    Args:
        neurons: Neurons in the layer.
        name: A name for people, which is shown in place of the layer's number; null:
            `layers[0]` for the first hidden layer and so on, and `readout`.
        trained: Whether training changes the layer's weights, bias and trained constants;
            false: they keep their initial values.
        capacity: Slots per sample and step for neurons that spike or carry gradient, spikes
            first. Spikes beyond it are dropped and counted. Null: one slot per neuron.
        policy: Which neurons get a slot when the capacity is too small. index: the lowest
            neuron numbers; cyclic: as index, but starting at a neuron drawn for every sample
            and step; top: the highest membranes, with equations the highest values of `spike`.
        bias: Whether each neuron learns a constant current.
        dropout: Probability with which the layer ignores a neuron of the layer before it, or an
            input channel, during a whole training sample; the other input weights are
            multiplied by 1 / (1 - dropout). Without effect outside of training.
        standardised: Normalisation: whether the input weights of each neuron, the kernel of
            each filter, are reduced to mean 0 and a trained standard deviation. It begins as
            that of the initial weights.
        quantisation: Quantisation-aware training: every run uses the layer's weight matrices as
            integers times a scale; null: as float32.
        delay: Steps that spikes take to this layer; null: network.delay, and 0 to the first
            layer. An object: delays of single connections.
        decay: Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 the
            neuron integrates and fires: its membrane keeps everything.
        gain: Scales the input current by gain * (1 - decay), and by gain where decay is 1.
        synapse_decay: Fraction of the synaptic current kept from step to step: a second state
            between input and membrane, as in NIR's CubaLIF; null: none.
        threshold: A neuron spikes where its membrane is above this value.
        second_threshold: Gradient flows only through neurons with a membrane above this value;
            null: through all.
        adaptation: Adaptive thresholds (ALIF neurons): threshold and second_threshold rise with
            each spike of the neuron; null: they are constant.
        recurrent: Whether the layer also receives its own spikes of the previous step, through
            trained weights.
        skips: Names of earlier hidden layers; their spikes are added to those of the layer
            before; a layer without a name is `layers[0]` and so on.
    """

def Equations(
    neurons: int,
    *,
    name: str | None = None,
    trained: bool = True,
    capacity: int | Mapping[str, Any] | None = None,
    policy: Literal['index', 'cyclic', 'top'] = ...,
    bias: bool = False,
    dropout: float = 0.0,
    standardised: bool = False,
    quantisation: Mapping[str, Any] | None = None,
    delay: int | Mapping[str, Any] | None = None,
    neuron_name: str = ...,
    states: Sequence[Mapping[str, Any]],
    parameters: Sequence[Mapping[str, Any]] = ...,
    spike: str,
    second_threshold: float | None = None,
    recurrent: bool = False,
    skips: Sequence[str] = ...,
) -> SpecPart:
    """A hidden layer. A neuron as equations: data, which is checked and never run as code.

    In each step all states are updated; the neuron spikes where `spike` is above 0; then all
    states get the values of their resets.

    Every neuron, or input channel, of the layer before is connected with every neuron.

    Args:
        neurons: Neurons in the layer.
        name: A name for people, which is shown in place of the layer's number; null:
            `layers[0]` for the first hidden layer and so on, and `readout`.
        trained: Whether training changes the layer's weights, bias and trained constants;
            false: they keep their initial values.
        capacity: Slots per sample and step for neurons that spike or carry gradient, spikes
            first. Spikes beyond it are dropped and counted. Null: one slot per neuron.
        policy: Which neurons get a slot when the capacity is too small. index: the lowest
            neuron numbers; cyclic: as index, but starting at a neuron drawn for every sample
            and step; top: the highest membranes, with equations the highest values of `spike`.
        bias: Whether each neuron learns a constant current.
        dropout: Probability with which the layer ignores a neuron of the layer before it, or an
            input channel, during a whole training sample; the other input weights are
            multiplied by 1 / (1 - dropout). Without effect outside of training.
        standardised: Normalisation: whether the input weights of each neuron, the kernel of
            each filter, are reduced to mean 0 and a trained standard deviation. It begins as
            that of the initial weights.
        quantisation: Quantisation-aware training: every run uses the layer's weight matrices as
            integers times a scale; null: as float32.
        delay: Steps that spikes take to this layer; null: network.delay, and 0 to the first
            layer. An object: delays of single connections.
        neuron_name: A name for people, in reports.
        states: What each neuron keeps from step to step.
        parameters: Numbers in the equations.
        spike: A neuron spikes where this is above 0. It is made of the states of this step, the
            parameters and I. The surrogate gradient is taken at its value.
        second_threshold: A neuron passes gradient through its spike only if its value of
            `spike` is above this number, in resets as well; null: every neuron does.
        recurrent: Whether the layer also receives its own spikes of the previous step, through
            trained weights.
        skips: Names of earlier hidden layers; their spikes are added to those of the layer
            before; a layer without a name is `layers[0]` and so on.
    """

def Conv2D(
    filters: int,
    kernel_size: int | Sequence[int] | Array,
    *,
    name: str | None = None,
    trained: bool = True,
    capacity: int | Mapping[str, Any] | None = None,
    policy: Literal['index', 'cyclic', 'top'] = ...,
    groups: int = 1,
    bias: bool = False,
    standardised: bool = False,
    quantisation: Mapping[str, Any] | None = None,
    dropout: float = 0.0,
    delay: int | Mapping[str, Any] | None = None,
    strides: int | Sequence[int] | Array = 1,
    padding: Literal['valid', 'same'] | int | Sequence[int] | Array = ...,
    dilation_rate: int | Sequence[int] | Array = 1,
    decay: float | Sequence[float] | Array = 0.95,
    gain: float = 10.0,
    synapse_decay: float | Sequence[float] | Array | None = None,
    threshold: float | Sequence[float] | Array = 1.0,
    second_threshold: float | Sequence[float] | Array | None = None,
    adaptation: Mapping[str, Any] | None = None,
    recurrent: bool = False,
    skips: Sequence[str] = ...,
) -> SpecPart:
    """A hidden layer. Leaky integrate-and-fire neurons. A constant is one number, or a list with
    one number per neuron, in a convolution per filter.

    A two-dimensional event-driven convolution; convolutions come before dense connections.

    Args:
        filters: Channels of the output.
        kernel_size: One number, or height and width.
        name: A name for people, which is shown in place of the layer's number; null:
            `layers[0]` for the first hidden layer and so on, and `readout`.
        trained: Whether training changes the layer's weights, bias and trained constants;
            false: they keep their initial values.
        capacity: Slots per sample and step for neurons that spike or carry gradient, spikes
            first. Spikes beyond it are dropped and counted. Null: one slot per neuron.
        policy: Which neurons get a slot when the capacity is too small. index: the lowest
            neuron numbers; cyclic: as index, but starting at a neuron drawn for every sample
            and step; top: the highest membranes, with equations the highest values of `spike`.
        groups: Groups of channels and filters that are convolved separately; must divide both.
        bias: Whether each filter learns a constant current.
        standardised: Normalisation: whether the input weights of each neuron, the kernel of
            each filter, are reduced to mean 0 and a trained standard deviation. It begins as
            that of the initial weights.
        quantisation: Quantisation-aware training: every run uses the layer's weight matrices as
            integers times a scale; null: as float32.
        dropout: Probability with which the layer ignores a neuron of the layer before it, or an
            input channel, during a whole training sample; the other input weights are
            multiplied by 1 / (1 - dropout). Without effect outside of training.
        delay: Steps that spikes take to this layer; null: network.delay, and 0 to the first
            layer. An object: delays of single connections.
        strides: Distance of neighbouring outputs: one number, or rows and columns.
        padding: valid: the kernel stays within the input; same: zeros around the input, so that
            without strides the output is as large; or zeros on both sides: one number, or rows
            and columns.
        dilation_rate: Distance of the kernel's taps: one number, or rows and columns.
        decay: Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 the
            neuron integrates and fires: its membrane keeps everything.
        gain: Scales the input current by gain * (1 - decay), and by gain where decay is 1.
        synapse_decay: Fraction of the synaptic current kept from step to step: a second state
            between input and membrane, as in NIR's CubaLIF; null: none.
        threshold: A neuron spikes where its membrane is above this value.
        second_threshold: Gradient flows only through neurons with a membrane above this value;
            null: through all.
        adaptation: Adaptive thresholds (ALIF neurons): threshold and second_threshold rise with
            each spike of the neuron; null: they are constant.
        recurrent: Whether the layer also receives its own spikes of the previous step, through
            trained weights.
        skips: Names of earlier hidden layers; their spikes are added to those of the layer
            before; a layer without a name is `layers[0]` and so on.
    """

def Conv1D(
    filters: int,
    kernel_size: int,
    *,
    name: str | None = None,
    trained: bool = True,
    capacity: int | Mapping[str, Any] | None = None,
    policy: Literal['index', 'cyclic', 'top'] = ...,
    groups: int = 1,
    bias: bool = False,
    standardised: bool = False,
    quantisation: Mapping[str, Any] | None = None,
    dropout: float = 0.0,
    delay: int | Mapping[str, Any] | None = None,
    strides: int = 1,
    padding: Literal['valid', 'same'] | int = ...,
    dilation_rate: int = 1,
    decay: float | Sequence[float] | Array = 0.95,
    gain: float = 10.0,
    synapse_decay: float | Sequence[float] | Array | None = None,
    threshold: float | Sequence[float] | Array = 1.0,
    second_threshold: float | Sequence[float] | Array | None = None,
    adaptation: Mapping[str, Any] | None = None,
    recurrent: bool = False,
    skips: Sequence[str] = ...,
) -> SpecPart:
    """A hidden layer. Leaky integrate-and-fire neurons. A constant is one number, or a list with
    one number per neuron, in a convolution per filter.

    A one-dimensional event-driven convolution; convolutions come before dense connections.

    Args:
        filters: Channels of the output.
        kernel_size: Taps of the kernel.
        name: A name for people, which is shown in place of the layer's number; null:
            `layers[0]` for the first hidden layer and so on, and `readout`.
        trained: Whether training changes the layer's weights, bias and trained constants;
            false: they keep their initial values.
        capacity: Slots per sample and step for neurons that spike or carry gradient, spikes
            first. Spikes beyond it are dropped and counted. Null: one slot per neuron.
        policy: Which neurons get a slot when the capacity is too small. index: the lowest
            neuron numbers; cyclic: as index, but starting at a neuron drawn for every sample
            and step; top: the highest membranes, with equations the highest values of `spike`.
        groups: Groups of channels and filters that are convolved separately; must divide both.
        bias: Whether each filter learns a constant current.
        standardised: Normalisation: whether the input weights of each neuron, the kernel of
            each filter, are reduced to mean 0 and a trained standard deviation. It begins as
            that of the initial weights.
        quantisation: Quantisation-aware training: every run uses the layer's weight matrices as
            integers times a scale; null: as float32.
        dropout: Probability with which the layer ignores a neuron of the layer before it, or an
            input channel, during a whole training sample; the other input weights are
            multiplied by 1 / (1 - dropout). Without effect outside of training.
        delay: Steps that spikes take to this layer; null: network.delay, and 0 to the first
            layer. An object: delays of single connections.
        strides: Distance of neighbouring outputs.
        padding: valid: the kernel stays within the input; same: zeros around the input, so that
            without strides the output is as large; or zeros on both sides: a number.
        dilation_rate: Distance of the kernel's taps.
        decay: Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 the
            neuron integrates and fires: its membrane keeps everything.
        gain: Scales the input current by gain * (1 - decay), and by gain where decay is 1.
        synapse_decay: Fraction of the synaptic current kept from step to step: a second state
            between input and membrane, as in NIR's CubaLIF; null: none.
        threshold: A neuron spikes where its membrane is above this value.
        second_threshold: Gradient flows only through neurons with a membrane above this value;
            null: through all.
        adaptation: Adaptive thresholds (ALIF neurons): threshold and second_threshold rise with
            each spike of the neuron; null: they are constant.
        recurrent: Whether the layer also receives its own spikes of the previous step, through
            trained weights.
        skips: Names of earlier hidden layers; their spikes are added to those of the layer
            before; a layer without a name is `layers[0]` and so on.
    """

def SumPool(
    pool_size: int | Sequence[int] | Array = 2,
) -> SpecPart:
    """Sums the spikes of neighbouring neurons of a filter; the layer before is a convolution.
    Windows do not overlap.

    Args:
        pool_size: Sides of a window: one number, or height and width. Rows and columns that
            fill no window are cropped.
    """

def AveragePool(
    pool_size: int | Sequence[int] | Array = 2,
) -> SpecPart:
    """Sums spikes in windows, and divides the weights behind it by the size of a window.

    Args:
        pool_size: Sides of a window: one number, or height and width. Rows and columns that
            fill no window are cropped.
    """

def Leaky(
    decay: float | Sequence[float] | Array = 0.95,
    *,
    name: str | None = None,
    trained: bool = True,
    bias: bool = False,
    dropout: float = 0.0,
    standardised: bool = False,
    quantisation: Mapping[str, Any] | None = None,
    delay: int | Mapping[str, Any] | None = None,
    gain: float = 10.0,
    synapse_decay: float | Sequence[float] | Array | None = None,
    skips: Sequence[str] = ...,
) -> SpecPart:
    """A readout. Leaky integrators without spikes; a network has them in its readout only.

    Every neuron, or input channel, of the layer before is connected with every neuron.

    Args:
        decay: Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 the
            neuron integrates and fires: its membrane keeps everything.
        name: A name for people, which is shown in place of the layer's number; null:
            `layers[0]` for the first hidden layer and so on, and `readout`.
        trained: Whether training changes the layer's weights, bias and trained constants;
            false: they keep their initial values.
        bias: Whether each neuron learns a constant current.
        dropout: Probability with which the layer ignores a neuron of the layer before it, or an
            input channel, during a whole training sample; the other input weights are
            multiplied by 1 / (1 - dropout). Without effect outside of training.
        standardised: Normalisation: whether the input weights of each neuron, the kernel of
            each filter, are reduced to mean 0 and a trained standard deviation. It begins as
            that of the initial weights.
        quantisation: Quantisation-aware training: every run uses the layer's weight matrices as
            integers times a scale; null: as float32.
        delay: Steps that spikes take to this layer; null: network.delay, and 0 to the first
            layer. An object: delays of single connections.
        gain: Scales the input current by gain * (1 - decay), and by gain where decay is 1.
        synapse_decay: Fraction of the synaptic current kept from step to step: a second state
            between input and membrane, as in NIR's CubaLIF; null: none.
        skips: Names of earlier hidden layers; their spikes are added to those of the layer
            before; a layer without a name is `layers[0]` and so on.
    """

def Spiking(
    decay: float | Sequence[float] | Array = 0.95,
    *,
    name: str | None = None,
    trained: bool = True,
    capacity: int | Mapping[str, Any] | None = None,
    policy: Literal['index', 'cyclic', 'top'] = ...,
    bias: bool = False,
    dropout: float = 0.0,
    standardised: bool = False,
    quantisation: Mapping[str, Any] | None = None,
    delay: int | Mapping[str, Any] | None = None,
    gain: float = 10.0,
    synapse_decay: float | Sequence[float] | Array | None = None,
    threshold: float | Sequence[float] | Array = 1.0,
    second_threshold: float | Sequence[float] | Array | None = None,
    adaptation: Mapping[str, Any] | None = None,
    recurrent: bool = False,
    skips: Sequence[str] = ...,
) -> SpecPart:
    """A readout. Leaky integrate-and-fire neurons. A constant is one number, or a list with one
    number per neuron, in a convolution per filter.

    Every neuron, or input channel, of the layer before is connected with every neuron.

    Args:
        decay: Fraction of the membrane kept from step to step, exp(-step / tau_mem). With 1 the
            neuron integrates and fires: its membrane keeps everything.
        name: A name for people, which is shown in place of the layer's number; null:
            `layers[0]` for the first hidden layer and so on, and `readout`.
        trained: Whether training changes the layer's weights, bias and trained constants;
            false: they keep their initial values.
        capacity: Slots per sample and step for neurons that spike or carry gradient, spikes
            first. Spikes beyond it are dropped and counted. Null: one slot per neuron.
        policy: Which neurons get a slot when the capacity is too small. index: the lowest
            neuron numbers; cyclic: as index, but starting at a neuron drawn for every sample
            and step; top: the highest membranes, with equations the highest values of `spike`.
        bias: Whether each neuron learns a constant current.
        dropout: Probability with which the layer ignores a neuron of the layer before it, or an
            input channel, during a whole training sample; the other input weights are
            multiplied by 1 / (1 - dropout). Without effect outside of training.
        standardised: Normalisation: whether the input weights of each neuron, the kernel of
            each filter, are reduced to mean 0 and a trained standard deviation. It begins as
            that of the initial weights.
        quantisation: Quantisation-aware training: every run uses the layer's weight matrices as
            integers times a scale; null: as float32.
        delay: Steps that spikes take to this layer; null: network.delay, and 0 to the first
            layer. An object: delays of single connections.
        gain: Scales the input current by gain * (1 - decay), and by gain where decay is 1.
        synapse_decay: Fraction of the synaptic current kept from step to step: a second state
            between input and membrane, as in NIR's CubaLIF; null: none.
        threshold: A neuron spikes where its membrane is above this value.
        second_threshold: Gradient flows only through neurons with a membrane above this value;
            null: through all.
        adaptation: Adaptive thresholds (ALIF neurons): threshold and second_threshold rise with
            each spike of the neuron; null: they are constant.
        recurrent: Whether the layer also receives its own spikes of the previous step, through
            trained weights.
        skips: Names of earlier hidden layers; their spikes are added to those of the layer
            before; a layer without a name is `layers[0]` and so on.
    """

def State(
    name: str,
    update: str | None = None,
    *,
    initial: float = 0.0,
    reset: str | None = None,
) -> SpecPart:
    """A value that each neuron keeps from step to step.

    Args:
        name: Name in equations.
        update: Value in this step, from the states of the step before, the parameters and I,
            the input current; new(a) is the value of the state a in this step; null: the state
            keeps its value.
        initial: Value before the first step of a sample.
        reset: Value after the step, from the states of this step, the parameters, I and r,
            which is 1 for neurons that spike in this step and 0 for others; null: the state
            keeps its value.
    """

def Parameter(
    name: str,
    value: float | Sequence[float] | Array,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    per: Literal['neuron', 'layer'] = ...,
    trained: bool = False,
) -> SpecPart:
    """A number in the equations, which may be trained.

    Args:
        name: Name in equations.
        value: Value, or the one that training begins with; a list has one per neuron.
        minimum: Lowest value; null: none.
        maximum: Highest value; null: none.
        per: What has a value: each neuron, in a convolution each filter, or the layer.
        trained: Whether training changes the value.
    """

def GrowingSlots(
    grow: int,
    most: int | None = None,
) -> SpecPart:
    """A capacity that grows between two training steps whenever spikes were dropped.

    Args:
        grow: Initial capacity: slots per sample and step.
        most: Largest capacity; null: one slot per neuron.
    """

def Adaptation(
    strength: float | Sequence[float] | Array = 0.2,
    decay: float | Sequence[float] | Array = 0.98,
    *,
    detach: bool = False,
) -> SpecPart:
    """Thresholds that rise with each spike of the neuron itself, and fall back between spikes.

    Args:
        strength: Rise of the neuron's thresholds with each of its spikes.
        decay: Fraction of the rise kept from step to step, exp(-step / tau_adaptation).
        detach: Whether spikes are constants of the gradient where they raise thresholds.
    """

def Delays(
    longest: int,
    per: Literal['synapse', 'neuron'] = ...,
    *,
    learning_rate_factor: float = 10.0,
    rounded: bool = False,
) -> SpecPart:
    """How long the spikes of each synapse, or of each sending neuron, take to a layer.

    Args:
        longest: The longest delay in steps; the shortest is 0.
        per: synapse: each weight has its own whole number of steps, which stays as it is;
            neuron: each neuron of the layer before, or input channel, has one, which is
            trained. Between two whole steps, both receive a part of the spike.
        learning_rate_factor: Factor of the learning rate for delays, which are in steps.
        rounded: Whether evaluations and results use trained delays rounded to whole steps.
    """

def Quantised(
    bits: Literal[4, 8] = 8,
    scale: Literal['neuron', 'layer'] = ...,
    *,
    power_of_two: bool = False,
) -> SpecPart:
    """Integer weights: training, evaluation and results use them, and biases stay float32.

    Args:
        bits: 8: integers from -127 to 127; 4: from -7 to 7.
        scale: What has one scale, the largest weight over the largest integer. neuron: the
            weights into one neuron, or of one filter; layer: each matrix.
        power_of_two: Whether scales are rounded up to powers of two, which chips multiply by in
            a shift.
    """

def Adam(
    learning_rate: float = 0.002,
    *,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-07,
) -> SpecPart:
    """Adam with bias correction.

    Args:
        learning_rate: Step size.
        beta_1: Decay of the mean of gradients.
        beta_2: Decay of the mean of squares.
        epsilon: Added to the root of the mean of squares.
    """

def AdamW(
    learning_rate: float = 0.002,
    *,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-07,
    weight_decay: float = 0.01,
) -> SpecPart:
    """Adam with decoupled weight decay.

    Before Adam's step w -= lr weight_decay w, for matrices only.

    Args:
        learning_rate: Step size.
        beta_1: Decay of the mean of gradients.
        beta_2: Decay of the mean of squares.
        epsilon: Added to the root of the mean of squares.
        weight_decay: Fraction of a weight that a step with learning rate 1 removes.
    """

def SGD(
    learning_rate: float = 0.1,
    *,
    momentum: float = 0.9,
    nesterov: bool = False,
) -> SpecPart:
    """Stochastic gradient descent: a = momentum a + g; w -= lr a.

    With nesterov: w -= lr (g + momentum a).

    Args:
        learning_rate: Step size.
        momentum: Fraction of the previous step that is kept.
        nesterov: Whether to evaluate the gradient one step ahead (Nesterov).
    """

def Clipping(
    value: float | None = None,
    *,
    global_norm: float | None = None,
) -> SpecPart:
    """Bounds of the gradient, by value first and then by norm.

    Args:
        value: Largest magnitude of an element; null: no bound.
        global_norm: Largest Euclidean norm of all gradients together; null: no bound.
    """

def Schedule(
    shape: Literal['constant', 'cosine'] = ...,
    *,
    warmup_steps: int = 0,
    final_share: float = 0.02,
) -> SpecPart:
    """How the learning rate changes from step to step.

    Args:
        shape: constant, or cosine: falls along half a cosine until the last step.
        warmup_steps: The rate first rises linearly over this many steps.
        final_share: Fraction of the optimizer's learning rate at which a cosine ends.
    """

def Ramp(
    start: float = -1.0,
    epochs: int = 10,
    *,
    shape: Literal['linear', 'cosine', 'exponential'] = ...,
) -> SpecPart:
    """How the second thresholds of all layers that have one rise to the layer's value.

    Few neurons of an untrained network spike; a low second threshold lets gradient flow through
    the others at first.

    Args:
        start: Second threshold in the first epoch, unless the layer's is lower.
        epochs: Number of epochs after which the layer's value applies.
        shape: linear: by the same step every epoch; cosine: along half a cosine; exponential:
            the distance shrinks by the same factor every epoch, to 1 % before the last.
    """

def EarlyStopping(
    metric: Literal['test_loss', 'test_accuracy', 'loss', 'accuracy', 'validation_loss', 'validation_accuracy', 'test_mae', 'mae', 'validation_mae'] = ...,
    patience: int = 10,
    *,
    min_delta: float = 0.0,
    restore_best: bool = True,
) -> SpecPart:
    """Ends training when a metric has not improved for some epochs.

    Args:
        metric: The metric; with data.validation, validation_loss if not given, and never of the
            test samples. Losses and mean absolute errors (mae, of a regression) should fall,
            accuracies should rise. Where test samples decide when to stop, their accuracy is
            slightly too optimistic: set data.validation.
        patience: Stops after this many epochs in a row without improvement.
        min_delta: Smallest change that counts as an improvement.
        restore_best: Whether to keep the best epoch's weights instead of the last one's.
    """

def AtLeast(
    spikes: float = 1.0,
    *,
    layers: Sequence[int] | Array | None = None,
    readout: bool = False,
    strength: float = 0.1,
) -> SpecPart:
    """strength * mean over samples and neurons of max(0, spikes - c)^2.

    Args:
        spikes: Spikes that a neuron should emit.
        layers: Numbers of the hidden layers, from 1; null: all.
        readout: Whether the readout is bound, too; its spikes only if it spikes.
        strength: Weight of the penalty.
    """

def AtMost(
    spikes: float = 5.0,
    *,
    layers: Sequence[int] | Array | None = None,
    readout: bool = False,
    strength: float = 0.1,
    power: Literal[1, 2] = 2,
) -> SpecPart:
    """strength * mean over samples of max(0, (mean of c over the layer) - spikes)^power.

    Args:
        spikes: Mean spikes per neuron up to which there is no penalty.
        layers: Numbers of the hidden layers, from 1; null: all.
        readout: Whether the readout is bound, too; its spikes only if it spikes.
        strength: Weight of the penalty.
        power: 1: proportional; 2: squared.
    """

def SuperSpike(
    slope: float = 10.0,
) -> SpecPart:
    """1 / (slope |x| + 1)^2, the derivative of a fast sigmoid.

    Args:
        slope: Steepness of the surrogate.
    """

def ArcTan(
    slope: float = 10.0,
) -> SpecPart:
    """1 / ((slope x)^2 + 1), the derivative of an arctangent.

    Args:
        slope: Steepness of the surrogate.
    """

def Boxcar(
    half_width: float = 0.5,
) -> SpecPart:
    """1 where |x| < half_width, else 0.

    Args:
        half_width: Distance from the threshold within which gradient flows.
    """

def Exponential(
    slope: float = 10.0,
) -> SpecPart:
    """exp(-slope |x|).

    Args:
        slope: Steepness of the surrogate.
    """

def Table(
    values: Sequence[float] | Array,
    width: float,
) -> SpecPart:
    """Your own shape: linear interpolation between values, 0 beyond the width.

    Args:
        values: The surrogate at equally spaced points from -width to width.
        width: Distance from the threshold that the table covers.
    """

def CPU(
    *,
    connection_type: Literal['ON_DEMAND', 'ALWAYS', 'PRE_COMPILE', 'NEVER'] = ...,
    threads: int = 0,
    weights_dtype: Literal['float32', 'bfloat16'] = ...,
    memory: Literal['slots', 'recompute'] = ...,
    where: Mapping[str, str] = ...,
    pool: str = ...,
) -> SpecPart:
    """The C++ LIF kernels in TensorFlow.

    Args:
        connection_type: When the device is attached. ON_DEMAND: once the program is ready to
            run, waiting for a free device; ALWAYS: before the program is compiled; PRE_COMPILE:
            never, the compiled program is kept in the executable cache for a later run; NEVER:
            never, the job reports whether the program compiles and fits.
        threads: Threads of the kernels; 0 uses every core that the worker may use.
        weights_dtype: bfloat16: each run first rounds the weight matrices to bfloat16, to
            measure what that precision costs; they are stored, summed and trained in float32.
        memory: What is stored for the backward pass. slots: the membranes that carry gradient;
            recompute: only the spikes, from which the layers are computed again.
        where: Labels that the worker's agent must have, all of them: {site: b}. The value *
            stands for any. An agent has the labels of the token with which it joined.
        pool: The pool of workers that runs the job; `ipulse pool list` shows all.
    """

def Emulator(
    ipus: int = 1,
    *,
    split: Literal['layers', 'neurons'] | None = None,
    mapping: Literal['capacity', 'neurons', 'linear'] = ...,
    memory: Literal['slots', 'recompute'] = ...,
    states_dtype: Literal['float32', 'float16'] = ...,
    stochastic_rounding: bool = False,
    connection_type: Literal['ON_DEMAND', 'ALWAYS', 'PRE_COMPILE', 'NEVER'] = ...,
    acquire_poll_seconds: float = 1.0,
    acquire_timeout_seconds: float = 3600.0,
    steps_per_execution: int = 1,
    engine_options: Mapping[str, str] = ...,
    where: Mapping[str, str] = ...,
    pool: str = ...,
    tiles: int = 1472,
    training: Literal['host', 'device'] = ...,
    weights_dtype: Literal['float32', 'float16'] = ...,
    host_link: Literal['pcie', 'fabric'] = ...,
    host_bytes_per_second: float | None = None,
    host_latency_seconds: float | None = None,
) -> SpecPart:
    """The Poplar op on emulated IPUs, on this machine's processor.

    Cycles and memory are those of the emulated tiles.

    Args:
        ipus: IPUs that the network is spread over: a power of two, as Poplar requires.
        split: How several IPUs share the network. layers: each layer is on one IPU; neurons:
            each IPU has some neurons of every layer; null: layers if there is at least one for
            every IPU, else neurons.
        mapping: How neurons are placed on tiles. capacity: the same work for every tile,
            measured by the slots that enter its neurons; neurons: the same number on every
            tile; linear: every layer over all tiles.
        memory: What is stored for the backward pass. slots: all that it reads; recompute:
            spikes, and states at some steps, from which the steps are run again: fewer bytes
            per tile for more cycles, and the same results.
        states_dtype: float16: membranes and synapses have two bytes a neuron and sample between
            time steps, and in the checkpoints of `memory: recompute`; sums, gradients and
            outputs are float32.
        stochastic_rounding: Whether states in float16, and matrices in float16 when they are
            updated, are rounded at random to one of two neighbours, so that small changes count
            on average; else to the nearest number.
        connection_type: When the device is attached. ON_DEMAND: once the program is ready to
            run, waiting for a free device; ALWAYS: before the program is compiled; PRE_COMPILE:
            never, the compiled program is kept in the executable cache for a later run; NEVER:
            never, the job reports whether the program compiles and fits.
        acquire_poll_seconds: While all devices are busy, check at least this often whether one
            is free. Unit: s.
        acquire_timeout_seconds: Fail if no device was free for this long. Unit: s.
        steps_per_execution: Training steps between two decisions of the host: changes of
            capacities and second thresholds, checkpoints and cancellation wait for the last of
            them. On an IPU they are one program. It must divide the steps of an epoch.
        engine_options: Options of the Poplar engine by name, as in POPLAR_ENGINE_OPTIONS:
            {"autoReport.all": "true"}, {"debug.allowOutOfMemory": "true"}. The worker decides
            where reports are stored. The emulator always writes its profile; of autoReport it
            uses only the number of runs.
        where: Labels that the worker's agent must have, all of them: {site: b}. The value *
            stands for any. An agent has the labels of the token with which it joined.
        pool: The pool of workers that runs the job; `ipulse pool list` shows all.
        tiles: Tiles of an IPU.
        training: Where a training step computes loss and update. host: TensorFlow on this
            machine, between two programs of the device; device: one program a step, as on an
            IPU, with sums in another order.
        weights_dtype: float16: matrices have two bytes a weight on the device, also between
            steps, with `training: device`; sums, states, moments and gradients are float32.
            IPUs have no bfloat16, which the device cpu has.
        host_link: Connection to the host that stream copies are modelled for. pcie: a card, 32
            GB/s and 10 µs for each copy; fabric: an IPU-M2000 over IPU over Fabric, 12.5 GB/s
            and 15 µs.
        host_bytes_per_second: Rate of a stream copy; null: that of `host_link`. Unit: B/s.
        host_latency_seconds: Time of a stream copy besides its bytes; null: that of
            `host_link`. Unit: s.
    """

def IPU(
    ipus: int = 1,
    *,
    split: Literal['layers', 'neurons'] | None = None,
    mapping: Literal['capacity', 'neurons', 'linear'] = ...,
    memory: Literal['slots', 'recompute'] = ...,
    states_dtype: Literal['float32', 'float16'] = ...,
    stochastic_rounding: bool = False,
    connection_type: Literal['ON_DEMAND', 'ALWAYS', 'PRE_COMPILE', 'NEVER'] = ...,
    acquire_poll_seconds: float = 1.0,
    acquire_timeout_seconds: float = 3600.0,
    steps_per_execution: int = 1,
    engine_options: Mapping[str, str] = ...,
    where: Mapping[str, str] = ...,
    pool: str = ...,
    architecture: Literal['ipu1', 'ipu2', 'ipu21'] = ...,
    device_id: int | None = None,
    poplar_flags: Sequence[str] = ...,
    pvti_options: Mapping[str, str] = ...,
) -> SpecPart:
    """The Poplar op on IPUs, through Graphcore's TensorFlow.

    Args:
        ipus: IPUs that the network is spread over: a power of two, as Poplar requires.
        split: How several IPUs share the network. layers: each layer is on one IPU; neurons:
            each IPU has some neurons of every layer; null: layers if there is at least one for
            every IPU, else neurons.
        mapping: How neurons are placed on tiles. capacity: the same work for every tile,
            measured by the slots that enter its neurons; neurons: the same number on every
            tile; linear: every layer over all tiles.
        memory: What is stored for the backward pass. slots: all that it reads; recompute:
            spikes, and states at some steps, from which the steps are run again: fewer bytes
            per tile for more cycles, and the same results.
        states_dtype: float16: membranes and synapses have two bytes a neuron and sample between
            time steps, and in the checkpoints of `memory: recompute`; sums, gradients and
            outputs are float32.
        stochastic_rounding: Whether states in float16, and matrices in float16 when they are
            updated, are rounded at random to one of two neighbours, so that small changes count
            on average; else to the nearest number.
        connection_type: When the device is attached. ON_DEMAND: once the program is ready to
            run, waiting for a free device; ALWAYS: before the program is compiled; PRE_COMPILE:
            never, the compiled program is kept in the executable cache for a later run; NEVER:
            never, the job reports whether the program compiles and fits.
        acquire_poll_seconds: While all devices are busy, check at least this often whether one
            is free. Unit: s.
        acquire_timeout_seconds: Fail if no device was free for this long. Unit: s.
        steps_per_execution: Training steps between two decisions of the host: changes of
            capacities and second thresholds, checkpoints and cancellation wait for the last of
            them. On an IPU they are one program. It must divide the steps of an epoch.
        engine_options: Options of the Poplar engine by name, as in POPLAR_ENGINE_OPTIONS:
            {"autoReport.all": "true"}, {"debug.allowOutOfMemory": "true"}. The worker decides
            where reports are stored. The emulator always writes its profile; of autoReport it
            uses only the number of runs.
        where: Labels that the worker's agent must have, all of them: {site: b}. The value *
            stands for any. An agent has the labels of the token with which it joined.
        pool: The pool of workers that runs the job; `ipulse pool list` shows all.
        architecture: Architecture that PRE_COMPILE and NEVER compile for; otherwise the
            attached IPU's is used.
        device_id: Number of the device in `gc-info -l`, which must have as many IPUs as `ipus`;
            null: any free device.
        poplar_flags: Flags of TF_POPLAR_FLAGS: ["--max_compilation_threads=4"].
        pvti_options: A trace for the System Analyser, as in PVTI_OPTIONS: {"enable": "true"}.
    """
