"""`ipu.embedding_ops`: rows of tables, on the IPU or on the host."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, List, Optional, Tuple

import tensorflow as tf

from ipu_tensorflow_emulator.gradient_accumulation import Accumulation
from ipu_tensorflow_emulator.process import STATE


def embedding_lookup(
    params: Any,
    ids: Any,
    name: Optional[str] = None,
    serialization_factor: int = 1,
    indices_are_sorted: bool = False,
) -> Any:
    """Return rows of a table. Raises ValueError if the factor does not divide the rows."""
    rows = params.shape[0]
    if serialization_factor < 1 or (rows and rows % serialization_factor):
        raise ValueError(
            f"serialization_factor ({serialization_factor}) must divide the rows of params ({rows})"
        )
    return tf.gather(params, ids, name=name)


class HostEmbeddingOptimizerSpec:
    """Gradient descent of the rows of a table, with a constant rate."""

    def __init__(self, learning_rate: float, optimizer_name: Optional[str] = None) -> None:
        """Store the rate; 0 trains nothing."""
        self._learning_rate = learning_rate

    def get_learning_rate(self) -> float:
        """Return the rate."""
        return self._learning_rate

    def get_accumulation_factor(self) -> int:
        """Return the lookups whose gradients make an update."""
        return 1


class HostEmbeddingSGDGAOptimizerSpec(HostEmbeddingOptimizerSpec):
    """Gradient descent with the sum of the gradients of several mini-batches."""

    def __init__(self, learning_rate: float, accumulation_factor: int) -> None:
        """Store the rate and the number of mini-batches."""
        super().__init__(learning_rate)
        self._factor = max(1, accumulation_factor)

    def get_accumulation_factor(self) -> int:
        """Return the lookups whose gradients make an update."""
        return self._factor


class HostEmbedding:
    """A table on the host, whose rows programs of a session read and train."""

    def __init__(
        self,
        name: str,
        embedding_tensor: Any,
        partition_strategy: str = "TOKEN",
        optimizer_spec: Optional[HostEmbeddingOptimizerSpec] = None,
    ) -> None:
        """Connect a variable of rank 2; without an optimizer it is not trained.

        Raises ValueError for other arguments, NotImplementedError with eager execution.
        """
        if tf.executing_eagerly():
            raise NotImplementedError(
                "host embeddings are emulated in sessions, and not with eager execution. Use "
                "tf.keras.layers.Embedding, or embedding_lookup() with a variable"
            )
        if not hasattr(embedding_tensor, "handle"):
            raise ValueError("embedding_tensor of a HostEmbedding must be a resource variable")
        if not isinstance(optimizer_spec, (type(None), HostEmbeddingOptimizerSpec)):
            raise ValueError(
                "optimizer_spec of a HostEmbedding must be a HostEmbeddingOptimizerSpec or None"
            )
        if partition_strategy not in ("TOKEN", "ENCODING"):
            raise ValueError(
                f"partition_strategy must be TOKEN or ENCODING; it is {partition_strategy!r}"
            )
        self._table = embedding_tensor
        self._optimizer = optimizer_spec or HostEmbeddingOptimizerSpec(0.0)
        self._is_registered = False
        self._accumulation = Accumulation(self._optimizer.get_accumulation_factor(), 1.0)
        if self._optimizer.get_learning_rate():
            # Its gradient updates the table: an optimizer that computes it trains the table.
            with tf.compat.v1.variable_scope(name, reuse=tf.compat.v1.AUTO_REUSE):
                self._dummy = tf.compat.v1.get_variable(
                    "__dummy", [], self._table.dtype, use_resource=True
                )

    def get_embedding_tensor(self) -> Any:
        """Return the table."""
        return self._table

    def register(self, session: Any = None) -> Any:
        """Return a context in which programs of a session may read the table.

        Raises ValueError without a session.
        """
        if session is None:
            raise ValueError("HostEmbedding.register() needs a session without eager execution")
        return self._registered()

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise NotImplementedError: the way of older SDKs."""
        raise NotImplementedError("a HostEmbedding is not called: use `with embedding.register()`")

    def lookup(self, indices: Any, clip_indices: bool = True) -> Any:
        """Return rows of the table, in a program.

        Out of the context of register() the program fails with tf.errors.OpError. Raises
        RuntimeError outside of programs.
        """
        if not STATE.depth:
            raise RuntimeError("A HostEmbedding is read in programs on the IPU only")
        shape = list(indices.shape)
        flat = tf.reshape(indices, [-1])
        if clip_indices:
            flat = tf.clip_by_value(flat, 0, self._table.shape[0] - 1)
        with tf.control_dependencies([tf.numpy_function(self._check_registered, [], [])]):
            found = tf.raw_ops.ResourceGather(
                resource=self._table.handle, indices=flat, dtype=self._table.dtype
            )
        rows = tf.stop_gradient(found)
        if self._optimizer.get_learning_rate():
            rows = self._trained(rows, flat)
        return tf.reshape(rows, [*shape, self._table.shape[1]])

    def _trained(self, rows: Any, indices: Any) -> Any:
        """Return rows whose gradient updates the table."""

        def pass_on(dummy: Any, rows: Any) -> Any:
            def gradient(upstream: Any) -> Any:
                with tf.control_dependencies([self._update(upstream, indices)]):
                    return tf.zeros_like(dummy), None

            return tf.identity(rows), gradient

        return tf.custom_gradient(pass_on)(self._dummy.read_value(), rows)

    def _update(self, gradient: Any, indices: Any) -> Any:
        rate = tf.cast(self._optimizer.get_learning_rate(), self._table.dtype)
        if self._accumulation.k == 1:
            return tf.raw_ops.ResourceScatterSub(
                resource=self._table.handle, indices=indices, updates=rate * gradient
            )
        slices = tf.IndexedSlices(gradient, indices, tf.constant(self._table.shape.as_list()))

        def apply(pairs: List[Tuple[Any, Any]]) -> Any:
            return tf.group(self._table.assign_sub(rate * pairs[0][0]))

        return tf.group(self._accumulation.add([(slices, self._table)], apply))

    @contextmanager
    def _registered(self) -> Iterator[HostEmbedding]:
        self._is_registered = True
        try:
            yield self
        finally:
            self._is_registered = False

    def _check_registered(self) -> List[Any]:
        if not self._is_registered:
            raise RuntimeError(
                "a program reads a HostEmbedding that is not registered: run the session in "
                "`with embedding.register(session)`"
            )
        return []


def create_host_embedding(
    name: str,
    shape: Any,
    dtype: Any,
    partition_strategy: str = "TOKEN",
    optimizer_spec: Optional[HostEmbeddingOptimizerSpec] = None,
    initializer: Any = None,
) -> HostEmbedding:
    """Create a table of a session and its HostEmbedding, which raises the same errors."""
    is_value = initializer is not None and not callable(initializer)
    table = tf.compat.v1.get_variable(
        name,
        None if is_value else shape,
        None if is_value else dtype,
        tf.cast(initializer, dtype) if is_value else initializer,
        use_resource=True,
    )
    return HostEmbedding(name, table, partition_strategy, optimizer_spec)
