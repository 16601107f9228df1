"""Prints the vertices of a layer for the tiles of an IPU, and the graph that they are part of.

A vertex has some neurons of one sample, and runs all steps: neurons of a layer know nothing of
each other. As in source.py, nothing that a user wrote is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Optional

from ipulse_core.spec.conv_geometry import ConvGeometry
from ipulse_ops.equations.layer_equations import LayerEquations
from ipulse_ops.equations.source import Names, backward_lines, forward_lines, literal, window

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

# For a recurrent convolution: what the weights of a neuron reach, or receive from.
_TAPS = """\
const unsigned from = m % kFilters, column = m / kFilters % kWidth, row = m / kFilters / kWidth;
      for (unsigned tap = 0; tap < kRows * kColumns; ++tap) {
        const unsigned toRow = row + kAbove - tap / kColumns;
        const unsigned toColumn = column + kBefore - tap % kColumns;
        if (toRow >= kHeight || toColumn >= kWidth)
          continue; // also below 0
        const unsigned to = step * neurons + (toRow * kWidth + toColumn) * kFilters;
        const unsigned weight = (tap * kFilters + from) * kFilters;
        for (unsigned f = 0; f < kFilters; ++f)
          /*EACH*/
      }"""
_CONVOLVED = {
    "SENT": """\
for (unsigned n = 0; n < neurons; ++n)
        total[step * neurons + n] = current[step * neurons + n];
      for (unsigned m = 0; step > 0 && m < neurons; ++m) {
        if (!(x[(step - 1) * neurons + m] > 0.0f))
          continue;
      """
    + _TAPS.replace("/*EACH*/", "total[to + f] += recurrent[weight + f];")
    + "\n      }",
    "RECEIVED": """\
const bool passes = kTruncate == 0 || step % (kTruncate == 0 ? 1 : kTruncate) != 0;
      for (unsigned m = 0; m < neurons; ++m) {
        received[m] = 0.0f;
        if (!passes)
          continue;
        float sum = 0.0f;
      """
    + _TAPS.replace("/*EACH*/", "sum += recurrent[weight + f] * byCurrent[to + f];")
    + """
        received[m] = sum;
      }""",
}


def poplar_sources(layer: LayerEquations) -> Dict[str, str]:
    """Return the texts of the codelets and of the host part by their file names."""
    neuron = layer.neuron
    names = Names(
        current="current[at]",
        before="states[before + {0} * neurons + n]",
        after="states[after + {0} * neurons + n]",
        by_spike="bySpikes[at] + received[n]" if layer.recurrent else "bySpikes[at]",
        by_current="byCurrent[at]",
        by_parameter="byParameters[{0} * neurons + n]",
        counts_trained=False,
    )
    # The forward vertex of a recurrent layer adds what its neurons send.
    forward = names._replace(current="total[at]") if layer.recurrent else names
    marks = {
        "STATES": str(len(neuron.states)),
        "PARAMETERS": str(max(1, len(neuron.parameters))),
        "TRUNCATE": str(layer.truncate or 0),
        "INITIAL": ", ".join(map(literal, neuron.initial)),
        "FORWARD": "\n".join(forward_lines(layer, forward, _INDENT)),
        "BACKWARD": "\n".join(backward_lines(layer, names, _INDENT)),
        "RECURRENT": "true" if layer.recurrent else "false",
        "WINDOW": _window(layer.own),
        **(_RECURRENT if layer.recurrent else dict.fromkeys(_RECURRENT, "")),
        **(_CONVOLVED if layer.own is not None else {}),
    }
    found = {}
    for name in (CODELETS_FILE, GRAPH_FILE):
        text = (_TEMPLATES / name).read_text("utf-8")
        for mark, value in marks.items():
            text = text.replace(f"/*{mark}*/", value)
        found[name] = text
    return found


def _window(own: Optional[ConvGeometry]) -> str:
    """Return the sizes of a recurrent convolution as constants."""
    if own is None:
        return ""
    sizes = window(own)
    names = {
        "kHeight": "height",
        "kWidth": "width",
        "kFilters": "filters",
        "kRows": "rows",
        "kColumns": "columns",
        "kAbove": "above",
        "kBefore": "before_columns",
    }
    found = ", ".join(f"{name} = {sizes[key]}" for name, key in names.items())
    return f"constexpr unsigned {found};"
