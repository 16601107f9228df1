"""Prints the C++ of a layer from its instructions.

Nothing that a user wrote is printed: names are numbered, and constants are hexadecimal floats.
"""

from __future__ import annotations

from typing import Dict, List, Mapping

import numpy as np

from ipulse_core.equations.adjoint import BY_SPIKE, by_state
from ipulse_core.equations.neuron import INPUT, NeuronEquations
from ipulse_core.equations.step_program import StepProgram, state_output
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
    "tanh": "tangent({0})",
    "detach": "{0}",
    "spike": "{0} > 0.0f ? 1.0f : 0.0f",
}


def literal(value: float) -> str:
    """Return a constant as a float32 literal, to the bit."""
    rounded = float(np.float32(value))
    return f"{rounded.hex()}f" if rounded >= 0 else f"({rounded.hex()}f)"


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
            text = _EXPRESSIONS[operation].format(*(f"v{each}" for each in arguments))
        lines.append(f"{indent}const float v{number} = {text};")
    return lines


def kernel_source(layer: LayerEquations) -> str:
    """Return the source of the two functions of kernel.py."""
    neuron = layer.neuron
    names = _inputs(neuron)
    forward = statements(layer.forward, names, " " * 8)
    forward.append(f"        x[at] = v{layer.forward.outputs['x']};")
    checked = ["x[at]"]
    for index in range(len(neuron.states)):
        number = layer.forward.outputs[state_output(index)]
        forward.append(f"        after[{index} * neurons + n] = v{number};")
        checked.append(f"v{number}")
    forward.append(f"        bad |= {' | '.join(f'not_finite({each})' for each in checked)};")
    names[BY_SPIKE] = "by_spikes[at]"
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
    backward.append(f"        bad |= {' | '.join(f'not_finite({each})' for each in checked)};")
    return _SOURCE.format(
        states=len(neuron.states),
        trained=len(neuron.trained),
        forward="\n".join(forward),
        backward="\n".join(backward),
    )


def _inputs(neuron: NeuronEquations) -> Dict[str, str]:
    names = {INPUT: "current[at]"}
    for index, state in enumerate(neuron.states):
        names[state] = f"before[{index} * neurons + n]"
    for index, parameter in enumerate(neuron.parameters):
        names[parameter.name] = f"parameters[{index} * neurons + n]"
    return names


_SOURCE = """\
// Generated from the equations of a neuron.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {{

// TensorFlow's threads take denormal numbers for zeros: within this scope arithmetic is IEEE's.
struct IeeeArithmetic {{
  std::fenv_t before;
  IeeeArithmetic() {{ std::fegetenv(&before), std::fesetenv(FE_DFL_ENV); }}
  ~IeeeArithmetic() {{ std::fesetenv(&before); }}
}};

inline std::uint32_t bits(float value) {{
  std::uint32_t found;
  std::memcpy(&found, &value, sizeof found);
  return found;
}}

inline std::uint32_t not_finite(float value) {{
  return (bits(value) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
}}

[[maybe_unused]] inline float absolute(float x) {{ return std::fabs(x); }}

[[maybe_unused]] inline float root(float x) {{ return std::sqrt(x); }}

// e^x for |x| up to 700, from additions and products alone: the bits of every CPU are equal.
[[maybe_unused]] inline double exponential_of(double x) {{
  const double magic = 0x1.8p52;
  const double shifted = x * 1.4426950408889634 + magic;
  const double n = shifted - magic;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double sum = 1.0 / 87178291200.0;
  sum = sum * r + 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  std::uint64_t low;
  std::memcpy(&low, &shifted, sizeof low);
  const std::uint64_t scale_bits = (low + 1023) << 52;
  double scale;
  std::memcpy(&scale, &scale_bits, sizeof scale);
  return sum * scale;
}}

[[maybe_unused]] inline float exponential(float x) {{
  const double bounded = x > 700.0f ? 700.0 : (x < -700.0f ? -700.0 : static_cast<double>(x));
  const float found = static_cast<float>(exponential_of(x == x ? bounded : 0.0));
  return x == x ? found : x;
}}

[[maybe_unused]] inline float tangent(float x) {{
  const double wide = x, size = std::fabs(wide), square = wide * wide;
  const double bounded = size < 300.0 ? size : 300.0;
  const double fall = exponential_of(-2.0 * bounded);
  const double large = (1.0 - fall) / (1.0 + fall);
  double series = 62.0 / 2835.0;
  series = series * square + -17.0 / 315.0;
  series = series * square + 2.0 / 15.0;
  series = series * square + -1.0 / 3.0;
  series = series * square + 1.0;
  const double signed_large = wide < 0.0 ? -large : large;
  const float found = static_cast<float>(size < 0.05 ? wide * series : signed_large);
  return x == x ? found : x;
}}

constexpr std::int64_t STATES = {states}, TRAINED = {trained};

}}  // namespace

// Runs samples begin to end - 1. Returns the first step with a value that is not finite, or -1.
extern "C" std::int64_t ipulse_equations_forward(
    const float *all_current, const float *parameters, float *all_x, float *all_states,
    std::int64_t steps, std::int64_t batch, std::int64_t neurons, std::int64_t begin,
    std::int64_t end, std::int64_t keeps) {{
  const IeeeArithmetic scope;
  std::int64_t first_bad = -1;
  for (std::int64_t sample = begin; sample < end; ++sample) {{
    for (std::int64_t step = 0; step < steps; ++step) {{
      const std::int64_t row = (step * batch + sample) * neurons;
      const float *current = all_current + row;
      float *x = all_x + row;
      const std::int64_t here = (keeps ? step * batch + sample : sample) * STATES * neurons;
      const float *before = all_states + here;
      float *after = all_states + here + (keeps ? batch * STATES * neurons : 0);
      std::uint32_t bad = 0;
#pragma GCC ivdep
      for (std::int64_t n = 0; n < neurons; ++n) {{
        const std::int64_t at = n;
{forward}
      }}
      if (bad && (first_bad < 0 || step < first_bad)) first_bad = step;
    }}
  }}
  return first_bad;
}}

// The adjoint of samples begin to end - 1. all_carry and all_sums are zeros.
extern "C" std::int64_t ipulse_equations_backward(
    const float *all_current, const float *parameters, const float *all_states,
    const float *all_by_spikes, float *all_by_current, float *all_carry, double *all_sums,
    std::int64_t steps, std::int64_t batch, std::int64_t neurons, std::int64_t begin,
    std::int64_t end, std::int64_t truncate) {{
  const IeeeArithmetic scope;
  std::int64_t first_bad = -1;
  for (std::int64_t sample = begin; sample < end; ++sample) {{
    float *carry = all_carry + sample * STATES * neurons;
    [[maybe_unused]] double *sums = all_sums + sample * TRAINED * neurons;
    for (std::int64_t step = steps - 1; step >= 0; --step) {{
      if (truncate > 0 && (step + 1) % truncate == 0) {{
        for (std::int64_t n = 0; n < STATES * neurons; ++n) carry[n] = 0.0f;
      }}
      const std::int64_t row = (step * batch + sample) * neurons;
      const float *current = all_current + row;
      const float *by_spikes = all_by_spikes + row;
      float *by_current = all_by_current + row;
      const float *before = all_states + (step * batch + sample) * STATES * neurons;
      std::uint32_t bad = 0;
#pragma GCC ivdep
      for (std::int64_t n = 0; n < neurons; ++n) {{
        const std::int64_t at = n;
{backward}
      }}
      if (bad && step > first_bad) first_bad = step;
    }}
  }}
  return first_bad;
}}
"""
