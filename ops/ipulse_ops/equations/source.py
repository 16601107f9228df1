"""Prints the C++ of a layer from its instructions.

Nothing that a user wrote is printed: names are numbered, and constants are hexadecimal floats.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence

import numpy as np

from ipulse_core.equations.adjoint import BY_SPIKE, by_state
from ipulse_core.equations.neuron import INPUT, NeuronEquations
from ipulse_core.equations.step_program import StepProgram, state_output
from ipulse_ops.equations.kernel_functions import FUNCTIONS
from ipulse_ops.equations.kernel_template import TEMPLATE
from ipulse_ops.equations.layer_equations import LayerEquations

GENERATOR = 1  # raise it when equal instructions give other results

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


def kernel_source(layer: LayerEquations) -> str:
    """Return the source of the two functions of kernel.py."""
    neuron = layer.neuron
    names = _inputs(neuron)
    forward = statements(layer.forward, names, " " * 8)
    forward.append(f"        x[at] = v{layer.forward.outputs['x']};")
    checked = [f"v{layer.forward.outputs['x']}"]
    for index in range(len(neuron.states)):
        number = layer.forward.outputs[state_output(index)]
        forward.append(f"        after[{index} * neurons + n] = v{number};")
        checked.append(f"v{number}")
    forward.append(f"        bad |= {_not_finite(checked)};")
    names[BY_SPIKE] = "by_spikes[at] + received[n]" if layer.recurrent else "by_spikes[at]"
    names.update((by_state(at), f"carry[{at} * neurons + n]") for at in range(len(neuron.states)))
    backward = statements(layer.backward, names, " " * 8)
    outputs = layer.backward.outputs
    backward.append(f"        by_current[at] = v{outputs[INPUT]};")
    for index in range(len(neuron.states)):
        number = outputs[state_output(index)]
        backward.append(f"        carry[{index} * neurons + n] = v{number};")
    for place, parameter in enumerate(neuron.trained):
        backward.append(f"        sums[{place} * neurons + n] += v{outputs[parameter.name]};")
    checked = [f"v{outputs[name]}" for name in (INPUT, *(each.name for each in neuron.trained))]
    backward.append(f"        bad |= {_not_finite(checked)};")
    return TEMPLATE.format(
        functions=FUNCTIONS,
        states=len(neuron.states),
        trained=len(neuron.trained),
        recurrent="true" if layer.recurrent else "false",
        gated="false" if layer.gate is None else "true",
        gate=literal(layer.gate or 0.0),
        forward="\n".join(forward),
        backward="\n".join(backward),
    )


def _not_finite(values: Sequence[str]) -> str:
    """Return what is 1 if one of the values is not finite, in one test: compilers vectorise it."""
    return f"not_finite({' + '.join(f'({each} - {each})' for each in values)})"


def _inputs(neuron: NeuronEquations) -> Dict[str, str]:
    names = {INPUT: "current[at]"}
    for index, state in enumerate(neuron.states):
        names[state] = f"before[{index} * neurons + n]"
    for index, parameter in enumerate(neuron.parameters):
        names[parameter.name] = f"parameters[{index} * neurons + n]"
    return names
