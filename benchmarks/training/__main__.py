"""Measure training: steps, parts of a step, memory, accuracy, and other libraries.

    python -m benchmarks.training step                     our variants on configs A and B
    python -m benchmarks.training step --weights bfloat16  float32 and bfloat16 weights
    python -m benchmarks.training breakdown --config B     where the time of a step goes
    python -m benchmarks.training memory                   bytes stored for the backward pass
    python -m benchmarks.training memory --peak            resident memory of both passes
    python -m benchmarks.training peers --config A         other libraries, installed on first use
    python -m benchmarks.training accuracy                 the reference networks, some minutes
    python -m benchmarks.training example-peers            the examples, beside snnTorch
    python -m benchmarks.training special-paths            each optimisation with and without
    python -m benchmarks.training convolutions             convolutional networks
    python -m benchmarks.training equations                a LIF layer written as equations
    python -m benchmarks.training spike-conv               a convolution of spikes, a dense one
    python -m benchmarks.training learning-curves          trainings with random settings
    python -m benchmarks.training public-graphs NIR/paper  graphs of others, beside float64

`COMMAND --help` lists the options; --output FILE writes the table as CSV.
"""

from __future__ import annotations

import sys

from benchmarks.common import command_line

COMMANDS = {
    "step": "step",
    "breakdown": "breakdown",
    "memory": "memory",
    "peers": "comparison",
    "accuracy": "accuracy",
    "convolutions": "convolutions",
    "equations": "layers.equations",
    "spike-conv": "layers.spike_conv",
    "learning-curves": "learning_curves",
    "example-peers": "example_peers",
    "special-paths": "special_paths",
    "public-graphs": "public_graphs",
}

if __name__ == "__main__":
    sys.exit(command_line.run("benchmarks.training", __doc__, COMMANDS))
