"""Keras layers and optimizers with kernels of PopLibs; the host computes them with Keras's own."""

from __future__ import annotations

from ipu_tensorflow_emulator.addons.keras import layers as layers
from ipu_tensorflow_emulator.addons.keras import optimizers as optimizers
