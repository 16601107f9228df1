"""Emulates `tensorflow.python.ipu` of Graphcore's TensorFlow, without an IPU.

Importing this package turns the emulation on. From then on `tensorflow.python.ipu`,
`ipu_tensorflow_addons`, `keras.ipu` and `popdist` can be imported. Custom ops run on emulated tiles
and everything else on the host. Where the real modules are installed, it leaves them alone.
"""

from __future__ import annotations

from ipu_tensorflow_emulator.activation import enable as enable
from ipu_tensorflow_emulator.activation import is_enabled as is_enabled

enable()
