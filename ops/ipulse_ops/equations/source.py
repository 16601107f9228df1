"""Prints the C++ of a layer from its instructions, for CPUs and for tiles (poplar_source.py).

Nothing that a user wrote is printed: names are numbered, and constants are hexadecimal floats.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from ipulse_core.equations.adjoint import BY_SPIKE, by_state
from ipulse_core.equations.neuron import INPUT, NeuronEquations
from ipulse_core.equations.step_program import StepProgram, state_output
from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.equations.kernel_functions import FUNCTIONS
from ipulse_ops.equations.kernel_template import TEMPLATE
from ipulse_ops.equations.layer_equations import LayerEquations

GENERATOR = 1  # raise it when equal instructions give other results

_CARRY = "carry[{0} * neurons + n]"  # the gradient by a state
_EXPRESSIONS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negate": "-{0}",
    "less": "{0} < {1} ? 1.0f : 0.0f",
    "less_equal": "{0} <= {1} ? 1.0f : 0.0f",
    "greater": "{0} > {1} ? 1.0f : 0.0f",
    "greater_equal": "{0} >= {1} ? 1.0f : 0.0f",
    "equal": "{0} == {1} ? 1.0f : 0.0f",
    "not_equal": "{0} != {1} ? 1.0f : 0.0f",
    "min": "{0} <= {1} ? {0} : {1}",
    "max": "{0} >= {1} ? {0} : {1}",
    "where": "{0} != 0.0f ? {1} : {2}",
    "abs": "absolute({0})",
    "square": "{0} * {0}",
    "sqrt": "root({0})",
    "exp": "exponential({0})",
    "log": "logarithm({0})",
    "tanh": "tangent({0})",
    "detach": "{0}",
    "spike": "{0} > 0.0f ? 1.0f : 0.0f",
}


def literal(value: float) -> str:
    """Return a constant as a float32 literal, to the bit."""
    rounded = float(np.float32(value))
    return f"{rounded.hex()}f" if rounded >= 0 else f"({rounded.hex()}f)"


def expression(operation: str, arguments: Sequence[int]) -> str:
    """Return an operation on the values of instructions, v0, v1 and so on."""
    return _EXPRESSIONS[operation].format(*(f"v{each}" for each in arguments))


def statements(program: StepProgram, inputs: Mapping[str, str], indent: str) -> List[str]:
    """Return one line for each instruction, which defines v0, v1 and so on.

    inputs: C++ expressions by the names of inputs.
    """
    lines: List[str] = []
    for number, (operation, arguments, value, name) in enumerate(program.instructions):
        if operation == "constant":
            text = literal(value)
        elif operation == "input":
            text = inputs[name]
        else:
            text = expression(operation, arguments)
        lines.append(f"{indent}const float v{number} = {text};")
    return lines


class Names(NamedTuple):
    """How the source of a layer names what a neuron reads and writes, as C++ expressions.

    {0} is the number of a state or a parameter.
    """

    current: str
    before: str  # a state before the step
    after: str  # a state after the step
    by_spike: str
    by_current: str
    by_parameter: str  # of a parameter, counted as `parameters` or as `trained` says
    counts_trained: bool  # whether by_parameter counts trained parameters alone


def forward_lines(layer: LayerEquations, names: Names, indent: str) -> List[str]:
    """Return the statements of a neuron's step."""
    inputs = _inputs(layer.neuron, names)
    outputs = layer.forward.outputs
    lines = statements(layer.forward, inputs, indent)
    lines.append(f"{indent}x[at] = v{outputs['x']};")
    for index in range(len(layer.neuron.states)):
        lines.append(f"{indent}{names.after.format(index)} = v{outputs[state_output(index)]};")
    return lines


def backward_lines(layer: LayerEquations, names: Names, indent: str) -> List[str]:
    """Return the statements of the adjoint of a neuron's step."""
    neuron, outputs = layer.neuron, layer.backward.outputs
    inputs = {**_inputs(neuron, names), BY_SPIKE: names.by_spike}
    carried = range(len(neuron.states) - layer.shows_membranes)
    inputs.update((by_state(at), _CARRY.format(at)) for at in carried)
    if layer.shows_membranes:  # see `with_gradients`
        inputs[by_state(len(carried))] = names.before.format(len(carried))
    lines = statements(layer.backward, inputs, indent)
    lines.append(f"{indent}{names.by_current} = v{outputs[INPUT]};")
    for index in carried:
        lines.append(f"{indent}{_CARRY.format(index)} = v{outputs[state_output(index)]};")
    counted = neuron.trained if names.counts_trained else neuron.parameters
    for index, parameter in enumerate(counted):
        if parameter.is_trained:
            place = names.by_parameter.format(index)
            lines.append(f"{indent}{place} += v{outputs[parameter.name]};")
    return lines


def _inputs(neuron: NeuronEquations, names: Names) -> Dict[str, str]:
    found = {INPUT: names.current}
    for index, state in enumerate(neuron.states):
        found[state] = names.before.format(index)
    for index, parameter in enumerate(neuron.parameters):
        found[parameter.name] = f"parameters[{index} * neurons + n]"
    return found


def with_gradients(states: np.ndarray, by_membranes: np.ndarray) -> np.ndarray:
    """Return states for the backward pass of a layer that shows its membranes.

    No step reads the membrane of the step before: its place is that of the gradient of this step's.

    states: `[time + 1, batch, states, neurons]`.
    by_membranes: `[time, batch, neurons]`.
    """
    found = states.copy()
    found[:-1, :, -1] = by_membranes
    return found


def kernel_source(layer: LayerEquations) -> str:
    """Return the source of the two functions of kernel.py."""
    neuron, indent = layer.neuron, " " * 8
    names = Names(
        current="current[at]",
        before="before[{0} * neurons + n]",
        after="after[{0} * neurons + n]",
        by_spike="by_spikes[at] + received[n]" if layer.recurrent else "by_spikes[at]",
        by_current="by_current[at]",
        by_parameter="sums[{0} * neurons + n]",
        counts_trained=True,
    )
    stepped, by = layer.forward.outputs, layer.backward.outputs
    computed = ["x", *map(state_output, range(len(neuron.states)))]
    forward = forward_lines(layer, names, indent)
    forward.append(f"{indent}bad |= {_not_finite([f'v{stepped[name]}' for name in computed])};")
    checked = [INPUT, *(parameter.name for parameter in neuron.trained)]
    backward = backward_lines(layer, names, indent)
    backward.append(f"{indent}bad |= {_not_finite([f'v{by[name]}' for name in checked])};")
    return TEMPLATE.format(
        functions=FUNCTIONS,
        states=len(neuron.states),
        trained=len(neuron.trained),
        recurrent="true" if layer.recurrent else "false",
        **window(layer.own),
        gated="false" if layer.gate is None else "true",
        gate=literal(layer.gate or 0.0),
        forward="\n".join(forward),
        backward="\n".join(backward),
    )


def window(own: Optional[ConvGeometry]) -> Dict[str, str]:
    """Return the sizes of a recurrent convolution as C++, by their names in templates."""
    if own is None:
        sizes = (1, 1, 1, 1, 1, 0, 0)
    else:
        sizes = (*own.size, own.filters, *own.kernel, *own.padding)
    names = ("height", "width", "filters", "rows", "columns", "above", "before_columns")
    found = {name: str(size) for name, size in zip(names, sizes)}
    return {"convolves": "false" if own is None else "true", **found}


def _not_finite(values: Sequence[str]) -> str:
    """Return what is 1 if one of the values is not finite, in one test: compilers vectorise it."""
    return f"not_finite({' + '.join(f'({each} - {each})' for each in values)})"
