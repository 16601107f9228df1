"""What stock TensorFlow needs so that programs for IPUs run on the host."""

from __future__ import annotations

import functools
import sys
from typing import Any, List

import tensorflow as tf

from ipu_tensorflow_emulator.process import has_no_effect

_MARK = "_is_prepared_for_emulation"


def prepare() -> None:
    """Prepare TensorFlow, once.

    XLA cannot compile calls of the host, so functions are traced without it. Sessions place
    operations of IPUs on the CPU.
    """
    if getattr(tf.function, _MARK, False):
        return
    _trace_without_xla()
    for session in (tf.compat.v1.Session, tf.compat.v1.InteractiveSession):
        _place_softly(session)


def _trace_without_xla() -> None:
    stock = tf.function

    @functools.wraps(stock)
    def function(func: Any = None, *arguments: Any, **options: Any) -> Any:
        for name in ("jit_compile", "experimental_compile"):
            if options.pop(name, None):
                has_no_effect("jit_compile (programs are traced without XLA)")
        return stock(func, *arguments, **options)

    setattr(function, _MARK, True)
    for module in _tensorflow_modules():
        module.function = function


def _tensorflow_modules() -> List[Any]:
    names = ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2")
    modules = [tf, *(sys.modules[name] for name in names if name in sys.modules)]
    return [module for module in modules if hasattr(module, "function")]


def _place_softly(session: Any) -> None:
    stock = session.__init__

    @functools.wraps(stock)
    def initialise(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        config = tf.compat.v1.ConfigProto() if config is None else config
        config.allow_soft_placement = True
        stock(self, target=target, graph=graph, config=config)

    session.__init__ = initialise


def present_tensorflow_1() -> None:
    """Give `tensorflow` the names of TensorFlow 1, without eager execution."""
    tf.compat.v1.disable_v2_behavior()
    older = tf.compat.v1
    for name in dir(older):
        if not name.startswith("_") and name not in ("keras", "compat", "python", "estimator"):
            setattr(tf, name, getattr(older, name))


def has_estimators() -> bool:
    """Return whether this TensorFlow has estimators, which newer releases have not."""
    return hasattr(tf.compat.v1, "estimator")


def without_autograph(function: Any) -> Any:
    """Keep AutoGraph from converting one of our functions."""
    return tf.autograph.experimental.do_not_convert(function)
