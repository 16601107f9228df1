"""`ipu.scopes`: where operations and variables are placed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

import tensorflow as tf

from ipu_tensorflow_emulator.process import STATE, has_no_effect, on_device


@contextmanager
def ipu_scope(device: str = "/device:IPU:0") -> Iterator[None]:
    """Place operations on the IPU. Variables are resources."""
    if "IPU" not in str(device).upper():
        raise ValueError(f"ipu_scope takes a device such as '/device:IPU:0'; it got {device!r}")
    with on_device(), _resources():
        yield


def ipu_shard(index: Any) -> Any:
    """Place operations on one of the IPUs; the host runs them all."""
    indices = [index] if isinstance(index, int) else list(index)
    if not all(isinstance(each, int) and each >= 0 for each in indices):
        raise TypeError(f"ipu_shard takes the number of an IPU or a list of them; got {index!r}")
    STATE.shards = max(STATE.shards, *(each + 1 for each in indices), 1)
    has_no_effect("ipu_shard (operations of all shards run on the host)")
    return _nothing()


@contextmanager
def ipu_jit_scope(ipu_scope: Any = 0) -> Iterator[None]:
    """Compile operations; without effect."""
    yield


@contextmanager
def outside_compilation_scope(name: str = "outside") -> Iterator[None]:
    """Run operations on the host, as all are here."""
    yield


@contextmanager
def frontend_attribute(attribute_name: str, attribute_value: Any, restore_to: Any = None) -> Any:
    """Give operations an attribute; without effect."""
    has_no_effect(f"scopes.frontend_attribute({attribute_name})")
    yield


@contextmanager
def stochastic_rounding(override: Any) -> Iterator[None]:
    """Choose stochastic rounding; without effect."""
    has_no_effect("scopes.stochastic_rounding")
    yield


@contextmanager
def partials_type(override: Any) -> Iterator[None]:
    """Choose the type of partial sums; without effect."""
    has_no_effect("scopes.partials_type")
    yield


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _resources() -> Iterator[None]:
    if tf.executing_eagerly():
        yield
    else:
        scope = tf.compat.v1.get_variable_scope()
        with tf.compat.v1.variable_scope(scope, use_resource=True):
            yield
