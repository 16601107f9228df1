"""Layers of TensorFlow 1."""

from __future__ import annotations

from ipu_tensorflow_emulator import refused

globals().update(refused.modules(__name__))
