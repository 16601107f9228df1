"""`ipu.rnn_ops` of SDK 2.4 and older: recurrent layers of sessions."""

from __future__ import annotations

from ipu_tensorflow_emulator.addons.layers.rnn_ops import PopnnAUGRU as PopnnAUGRU
from ipu_tensorflow_emulator.addons.layers.rnn_ops import PopnnDynamicGRU as PopnnDynamicGRU
from ipu_tensorflow_emulator.addons.layers.rnn_ops import PopnnDynamicLSTM as PopnnDynamicLSTM
from ipu_tensorflow_emulator.addons.layers.rnn_ops import PopnnGRU as PopnnGRU
from ipu_tensorflow_emulator.addons.layers.rnn_ops import PopnnLSTM as PopnnLSTM
