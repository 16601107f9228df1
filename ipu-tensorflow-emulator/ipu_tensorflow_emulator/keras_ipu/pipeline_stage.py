"""PipelineStage, which assigns layers to a stage as they are called."""

from __future__ import annotations

import functools
from typing import Any, List, Tuple

from ipu_tensorflow_emulator.keras_models.installed import keras_modules
from ipu_tensorflow_emulator.keras_models.stages import (
    check_pipelined,
    remember,
    remember_all_calls,
)
from ipu_tensorflow_emulator.process import STATE

_open: List[int] = []


class PipelineStage:
    """Assigns every layer that is created or called inside to a stage.

    The stage of a call comes before that of its layer. Raises ValueError for a negative number,
    RuntimeError inside another stage and outside of the scope of an IPUStrategy.
    """

    def __init__(self, stage: Any) -> None:
        """Name the stage."""
        if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
            raise ValueError(f"{stage!r} is not a pipeline stage: it is a whole number >= 0")
        self._stage = stage
        self._stock: List[Tuple[Any, Any, Any]] = []

    def __enter__(self) -> PipelineStage:
        """Begin the stage."""
        if _open:
            raise RuntimeError(f"PipelineStage({self._stage}) is inside PipelineStage({_open[-1]})")
        if STATE.strategy is None:
            raise RuntimeError(
                "PipelineStage may only be used from within an IPUStrategy context: use it in "
                "strategy.scope()"
            )
        check_pipelined()
        _open.append(self._stage)
        for layer in {keras.layers.Layer for keras in keras_modules().values()}:
            self._stock.append((layer, layer.__call__, layer.__init__))
            layer.__call__ = self._assigning(layer.__call__)
            layer.__init__ = self._assigned(layer.__init__)
        return self

    def __exit__(self, *_: Any) -> None:
        """End the stage."""
        _open.clear()
        for layer, call, initialise in self._stock:
            layer.__call__, layer.__init__ = call, initialise
        self._stock.clear()

    def _assigning(self, stock: Any) -> Any:
        @functools.wraps(stock)
        def call(layer: Any, *arguments: Any, **named: Any) -> Any:
            before = len(getattr(layer, "_inbound_nodes", ()))
            result = stock(layer, *arguments, **named)
            for number in range(before, len(getattr(layer, "_inbound_nodes", ()))):
                remember(layer, number, self._stage)
            return result

        return call

    def _assigned(self, stock: Any) -> Any:
        @functools.wraps(stock)
        def initialise(layer: Any, *arguments: Any, **named: Any) -> None:
            remember_all_calls(layer, self._stage)
            stock(layer, *arguments, **named)

        return initialise
