"""`rnn_ops`: recurrent layers of sessions, computed with TensorFlow's own operations.

Variables and order of gates are those of SDK 2.5 and newer, which are Keras's: `kernel`
[channels + units, gates x units] and `biases` [gates, units].
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import tensorflow as tf

from ipu_tensorflow_emulator.process import has_no_effect

tf1 = tf.compat.v1
_ACTIVATIONS: Dict[str, Callable[[Any], Any]] = {
    "tanh": tf.tanh,
    "relu": tf.nn.relu,
    "softmax": tf.nn.softmax,
    "sigmoid": tf.sigmoid,
    "hard_sigmoid": lambda x: tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0),
}


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM, each [batch, units]."""

    c: Any
    h: Any


def _activation(value: Any) -> Callable[[Any], Any]:
    name = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    if name not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATIONS)
        raise ValueError(f"{name!r} is no activation of this layer: choose one of {known}")
    return _ACTIVATIONS[name]


class _Layer:
    """A recurrent layer; the first dimension of inputs and outputs is the time."""

    _states, _gates, _scope_name = 1, 3, ""

    def __init__(
        self,
        num_units: int,
        dtype: Any = tf.float32,
        partials_dtype: Any = None,
        seed: Optional[int] = None,
        weights_initializer: Any = None,
        bias_initializer: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        name: Optional[str] = None,
        reset_after: bool = False,
        **without_effect: Any,
    ) -> None:
        """Create the layer. Raises ValueError for another type, or an unknown activation."""
        self.dtype, self.num_units, self._reset_after = tf.as_dtype(dtype), num_units, reset_after
        if self.dtype not in (tf.float16, tf.float32):
            raise ValueError(f"dtype must be float16 or float32; it is {self.dtype.name}")
        self._initial = weights_initializer or tf1.glorot_uniform_initializer(seed)
        self._initial_bias = bias_initializer or tf1.zeros_initializer()
        self._act, self._gate = _activation(activation), _activation(recurrent_activation)
        self._name = name or self._scope_name
        self._scope: Any = None
        self.kernel: Any = None
        self.biases: Any = None
        for option, value in {"partials_dtype": partials_dtype, **without_effect}.items():
            if value is not None:
                has_no_effect(f"{type(self).__name__}({option}=)")

    def build(self, input_shape: Any) -> None:
        """Create the variables, once. Raises ValueError for a shape of other than 3 dimensions."""
        shape = tf.TensorShape(input_shape)
        if shape.rank != 3 or shape.as_list()[-1] is None:
            raise ValueError(f"inputs must be [time, batch, channels]; their shape is {shape}")
        if self.kernel is None:
            rows, units = shape.as_list()[-1] + self.num_units, self.num_units
            biases = [self._gates, *([2] if self._reset_after else []), units]
            with tf1.variable_scope(None, default_name=self._name) as self._scope:
                self.kernel = self._variable("kernel", [rows, self._gates * units], self._initial)
                self.biases = self._variable("biases", biases, self._initial_bias)

    def _variable(self, name: str, shape: List[int], initializer: Any) -> Any:
        return tf1.get_variable(name, shape, self.dtype, initializer)

    def _step(self, state: List[Any], entering: Any, kernel: Any, bias: Any, *score: Any) -> Any:
        raise NotImplementedError

    def _run(
        self, inputs: Any, state: Any, lengths: Any = None, scores: Any = None
    ) -> Tuple[Any, List[Any]]:
        """Return outputs, [time, batch, units], and the last state.

        After its length a sequence has outputs of 0, and keeps its state.
        """
        inputs = tf.convert_to_tensor(inputs, self.dtype)
        self.build(inputs.shape)
        if state is None:
            zeros = tf.zeros([tf.shape(inputs)[1], self.num_units], self.dtype)
            state = [zeros] * self._states
        state = [tf.convert_to_tensor(each, self.dtype) for each in state]
        channels = inputs.shape.as_list()[-1]
        kernel, bias = tf.convert_to_tensor(self.kernel), tf.convert_to_tensor(self.biases)
        given = [tf.range(tf.shape(inputs)[0]), tf.tensordot(inputs, kernel[:channels], 1)]
        given += [] if scores is None else [tf.convert_to_tensor(scores, self.dtype)[:, :, None]]

        def step(before: Any, now: Any) -> Any:
            after = self._step(before[:-1], now[1], kernel[channels:], bias, *now[2:])
            if lengths is None:
                return [*after, after[-1]]
            runs, where = (now[0] < lengths)[:, None], tf.compat.v2.where
            kept = [where(runs, new, old) for new, old in zip(after, before)]
            return [*kept, where(runs, after[-1], tf.zeros_like(after[-1]))]

        results = tf.scan(step, given, [*state, tf.zeros_like(state[-1])])
        return results[-1], [each[-1] for each in results[:-1]]


class PopnnLSTM(_Layer):
    """An LSTM."""

    _states, _gates, _scope_name = 2, 4, "popnn_lstm"

    def __call__(self, inputs: Any, initial_state: Any = None, training: bool = True) -> Any:
        """Return outputs and the last state (c, h). Raises ValueError for another initial state."""
        return self._lstm(inputs, None, initial_state)

    def _lstm(self, inputs: Any, lengths: Any, state: Any) -> Any:
        kind = LSTMStateTuple if state is None else type(state)
        if getattr(kind, "_fields", None) != ("c", "h"):
            raise ValueError(f"initial_state must be an LSTMStateTuple; it is a {kind.__name__}")
        outputs, last = self._run(inputs, state, lengths)
        return outputs, kind(*last)

    def _step(self, state: List[Any], entering: Any, kernel: Any, bias: Any, *score: Any) -> Any:
        gates = entering + tf.matmul(state[1], kernel) + tf.reshape(bias, [-1])
        enter, forget, candidate, leave = tf.split(gates, 4, axis=1)
        c = self._gate(forget) * state[0] + self._gate(enter) * self._act(candidate)
        return [c, self._gate(leave) * self._act(c)]


class PopnnDynamicLSTM(PopnnLSTM):
    """An LSTM for sequences of several lengths, [batch]."""

    _scope_name = "popnn_dynamic_lstm"

    def __call__(  # type: ignore[override] # as the real one
        self, inputs: Any, seq_len: Any, initial_state: Any = None, training: bool = True
    ) -> Any:
        """Return outputs and the last state (c, h)."""
        return self._lstm(inputs, seq_len, initial_state)


class PopnnGRU(_Layer):
    """A GRU."""

    _scope_name = "popnn_gru"

    def __call__(self, inputs: Any, initial_state: Any = None, training: bool = True) -> Any:
        """Return outputs and the last state, [batch, units]."""
        return self._gru(inputs, initial_state)

    def _gru(self, inputs: Any, state: Any, lengths: Any = None, scores: Any = None) -> Any:
        outputs, last = self._run(inputs, None if state is None else [state], lengths, scores)
        return outputs, last[0]

    def _step(self, state: List[Any], entering: Any, kernel: Any, bias: Any, *score: Any) -> Any:
        (h,), units = state, self.num_units
        biases = tf.reshape(bias[:, 0] if self._reset_after else bias, [-1])
        update, reset, candidate = tf.split(entering + biases, 3, axis=1)
        if self._reset_after:
            hidden = tf.matmul(h, kernel) + tf.reshape(bias[:, 1], [-1])
        else:
            hidden = tf.matmul(h, kernel[:, : 2 * units])
        update = self._gate(update + hidden[:, :units])
        reset = self._gate(reset + hidden[:, units : 2 * units])
        if self._reset_after:
            candidate += reset * hidden[:, 2 * units :]
        else:
            candidate += tf.matmul(reset * h, kernel[:, 2 * units :])
        for each in score:  # of an AUGRU
            update = (1.0 - each) * update
        return [update * h + (1.0 - update) * self._act(candidate)]


class PopnnDynamicGRU(PopnnGRU):
    """A GRU for sequences of several lengths, [batch], with biases of 1 for its gates."""

    _scope_name = "popnn_dynamic_gru"

    def __call__(  # type: ignore[override] # as the real one
        self,
        inputs: Any,
        seq_len: Any,
        initial_state: Any = None,
        training: bool = True,
        time_major: bool = True,
    ) -> Any:
        """Return outputs, with the time first, and the last state."""
        inputs = inputs if time_major else tf.transpose(inputs, [1, 0, 2])
        return self._gru(self._prepared(inputs), initial_state, seq_len)

    def _prepared(self, inputs: Any) -> Any:
        """Create the biases of two more variables.

        The real layer also creates `biases` and leaves it unused, so that checkpoints have it.
        """
        inputs = tf.convert_to_tensor(inputs, self.dtype)
        is_built = self.kernel is not None
        self.build(inputs.shape)
        with tf1.variable_scope(self._scope, reuse=is_built):
            gates = self._variable("bias_r_u", [2, self.num_units], tf1.ones_initializer())
            candidate = self._variable("bias_c", [1, self.num_units], tf1.zeros_initializer())
        biases = tf.concat([gates, candidate], axis=0)
        self.biases = tf.stack([biases, biases], axis=1) if self._reset_after else biases
        return inputs


class PopnnAUGRU(PopnnDynamicGRU):
    """A GRU whose update gate is scaled by 1 - attention, [time, batch]."""

    _scope_name = "popnn_augru"

    def __call__(  # type: ignore[override] # as the real one
        self,
        inputs: Any,
        seq_len: Any,
        attention_score: Any,
        initial_state: Any = None,
        training: bool = True,
        time_major: bool = True,
    ) -> Any:
        """Return outputs, with the time first, and the last state."""
        if not time_major:
            inputs = tf.transpose(inputs, [1, 0, 2])
            attention_score = tf.transpose(attention_score, [1, 0])
        return self._gru(self._prepared(inputs), initial_state, seq_len, attention_score)
