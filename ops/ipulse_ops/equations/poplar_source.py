"""Prints the vertices of a layer for the tiles of an IPU, and the graph that they are part of.

A vertex has some neurons of one sample, and runs all steps: neurons of a layer know nothing of
each other. As in source.py, nothing that a user wrote is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict

from ipulse_core.equations.adjoint import BY_SPIKE, by_state
from ipulse_core.equations.neuron import INPUT, NeuronEquations
from ipulse_core.equations.step_program import state_output
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.source import literal, statements

_TEMPLATES = Path(__file__).resolve().parent / "poplar"
CODELETS_FILE, GRAPH_FILE = "codelets.cpp", "graph.cpp"
_INDENT = " " * 8
# For a recurrent layer: each vertex has all neurons of a sample.
_RECURRENT = {
    "FORWARD_FIELDS": """\
poplar::Input<poplar::Vector<float>> recurrent;  // [sender][receiver]
  poplar::Output<poplar::Vector<float>> total;     // current and what neurons send""",
    "SENT": """\
for (unsigned n = 0; n < neurons; ++n)
        total[step * neurons + n] = current[step * neurons + n];
      for (unsigned m = 0; step > 0 && m < neurons; ++m)
        if (x[(step - 1) * neurons + m] > 0.0f)
          for (unsigned n = 0; n < neurons; ++n)
            total[step * neurons + n] += recurrent[m * neurons + n];""",
    "BACKWARD_FIELDS": """\
poplar::Input<poplar::Vector<float>> recurrent;
  poplar::Output<poplar::Vector<float>> received; // gradients of the spikes""",
    "NOTHING_RECEIVED": """\
for (unsigned n = 0; n < neurons; ++n)
      received[n] = 0.0f;""",
    "RECEIVED": """\
const bool passes = kTruncate == 0 || step % (kTruncate == 0 ? 1 : kTruncate) != 0;
      for (unsigned m = 0; m < neurons; ++m) {
        float sum = 0.0f;
        for (unsigned n = 0; passes && n < neurons; ++n)
          sum += recurrent[m * neurons + n] * byCurrent[step * neurons + n];
        received[m] = sum;
      }""",
}


def poplar_sources(layer: LayerEquations) -> Dict[str, str]:
    """Return the texts of the codelets and of the host part by their file names."""
    neuron = layer.neuron
    marks = {
        "STATES": str(len(neuron.states)),
        "PARAMETERS": str(max(1, len(neuron.parameters))),
        "TRUNCATE": str(layer.truncate or 0),
        "INITIAL": ", ".join(map(literal, neuron.initial)),
        "FORWARD": _forward(layer),
        "BACKWARD": _backward(layer),
        "RECURRENT": "true" if layer.recurrent else "false",
        **(_RECURRENT if layer.recurrent else dict.fromkeys(_RECURRENT, "")),
    }
    found = {}
    for name in (CODELETS_FILE, GRAPH_FILE):
        text = (_TEMPLATES / name).read_text("utf-8")
        for mark, value in marks.items():
            text = text.replace(f"/*{mark}*/", value)
        found[name] = text
    return found


def _forward(layer: LayerEquations) -> str:
    names = _inputs(layer.neuron)
    if layer.recurrent:
        names[INPUT] = "total[at]"
    lines = statements(layer.forward, names, _INDENT)
    outputs = layer.forward.outputs
    lines.append(f"{_INDENT}x[at] = v{outputs['x']};")
    for index in range(len(layer.neuron.states)):
        place = f"after + {index} * neurons + n"
        lines.append(f"{_INDENT}states[{place}] = v{outputs[state_output(index)]};")
    return "\n".join(lines)


def _backward(layer: LayerEquations) -> str:
    neuron, outputs = layer.neuron, layer.backward.outputs
    names = {**_inputs(neuron), BY_SPIKE: "bySpikes[at]"}
    if layer.recurrent:
        names[BY_SPIKE] += " + received[n]"
    for index in range(len(neuron.states)):
        names[by_state(index)] = f"carry[{index} * neurons + n]"
    lines = statements(layer.backward, names, _INDENT)
    lines.append(f"{_INDENT}byCurrent[at] = v{outputs[INPUT]};")
    for index in range(len(neuron.states)):
        number = outputs[state_output(index)]
        lines.append(f"{_INDENT}carry[{index} * neurons + n] = v{number};")
    for index, parameter in enumerate(neuron.parameters):
        if parameter.is_trained:
            place = f"byParameters[{index} * neurons + n]"
            lines.append(f"{_INDENT}{place} += v{outputs[parameter.name]};")
    return "\n".join(lines)


def _inputs(neuron: NeuronEquations) -> Dict[str, str]:
    names = {INPUT: "current[at]"}
    for index, state in enumerate(neuron.states):
        names[state] = f"states[before + {index} * neurons + n]"
    for index, parameter in enumerate(neuron.parameters):
        names[parameter.name] = f"parameters[{index} * neurons + n]"
    return names
