"""The commented spec that `ipulse init` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Lines that begin with "# " and a field are optional; each is valid without its mark.
_TEMPLATE = """\
# An experiment of IPUlse: data, network, training and device.
# Check it:  ipulse validate {file}
# Train it:  ipulse submit {file} --watch
# Lines such as "# capacity: 64" are optional. All fields and limits:  ipulse spec fields
version: 2
name: {name}
# Equal specs and seeds give equal results.
seed: 0

{data}
network:
  # Hidden layers of spiking neurons, from the input to the readout.
  layers:
    - neurons: 128
      neuron:
        # Fraction of the membrane that is left after one time step.
        decay: 0.95
        # A neuron spikes when its membrane is above this value.
        # threshold: 0.9
        # Gradient flows only through neurons with a membrane above this value.
        # second_threshold: 0.5
      # The most spikes that the layer sends in a time step; further ones are dropped and counted.
      # capacity: 64
      # With a recurrent one, the layer also receives its own spikes of the previous time step.
      # connections: [{{kind: dense}}, {{kind: recurrent}}]
    # Another layer:
    # - {{neurons: 64}}
  # How the classes are read: leaky neurons (their membranes) or lif (their spike counts).
  readout: {{neuron: {{kind: leaky, decay: 0.97}}}}
  # The derivative that replaces that of the spike.
  surrogate: {{name: superspike, slope: 20}}

training:
  epochs: 20
  batch_size: 32
{loss}  optimizer: {{kind: adam, learning_rate: 0.01}}
  # schedule: {{shape: cosine, warmup_steps: 20}}
  # A checkpoint after so many epochs, from which a paused job continues.
  # checkpoint_epochs: 5

# Where to train: cpu, emulator (an IPU in software) or ipu.
device: {{kind: cpu}}

# Notes of your own, for filters such as --label team=audio.
# metadata: {{team: audio}}
"""

_DIGITS = """\
# The data set. digits is included; randman, yin_yang and others are generated. For a file of your
# own run `ipulse data push mine.npz` and write data: {kind: npz, dataset: mine}
data:
  kind: digits
  # Time steps of one sample.
  steps: 40
"""


def spec_template(
    name: str, file: str, data: Mapping[str, Any] | None = None, loss: str | None = None
) -> str:
    """Return a commented spec with this name, for a file that its comments mention.

    data: the fields of `data`, which `ipulse data push` uploaded; None: the included digits.
    loss: that of a regression; None: the default one.
    """
    return _TEMPLATE.format(
        name=json.dumps(name, ensure_ascii=False),
        file=file,
        data=_DIGITS if data is None else _own_data(data),
        loss="" if loss is None else f"  loss: {loss}\n",
    )


def _own_data(fields: Mapping[str, Any]) -> str:
    """Return the section of an uploaded data set. JSON of a value is YAML, too."""
    lines = [
        "# Your data set, uploaded with `ipulse data push`; docs/guides/own_data.md. Channels,",
        "# classes and steps are those of the file.",
        "data:",
    ]
    lines += [f"  {name}: {json.dumps(value)}" for name, value in fields.items()]
    return "\n".join(
        [
            *lines,
            "  # The part that early stopping looks at, of the training samples.",
            "  # validation: 0.1",
            "",
        ]
    )
