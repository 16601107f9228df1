"""PipelineStage, which assigns layers to a stage as they are called."""

from __future__ import annotations

import functools
from typing import Any, List, Tuple

from ipu_tensorflow_emulator.keras_models.methods import keras_modules
from ipu_tensorflow_emulator.keras_models.stages import remember

_open: List[int] = []


class PipelineStage:
    """Assigns every layer that is called inside to a stage.

    Raises ValueError for a negative number, RuntimeError inside another stage.
    """

    def __init__(self, stage: Any) -> None:
        """Name the stage."""
        if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
            raise ValueError(f"{stage!r} is not a pipeline stage: it is a whole number >= 0")
        self._stage = stage
        self._stock: List[Tuple[Any, Any]] = []

    def __enter__(self) -> PipelineStage:
        """Begin the stage."""
        if _open:
            raise RuntimeError(f"PipelineStage({self._stage}) is inside PipelineStage({_open[-1]})")
        _open.append(self._stage)
        for layer in {keras.layers.Layer for keras in keras_modules().values()}:
            self._stock.append((layer, layer.__call__))
            layer.__call__ = self._assigning(layer.__call__)
        return self

    def __exit__(self, *_: Any) -> None:
        """End the stage."""
        _open.clear()
        for layer, stock in self._stock:
            layer.__call__ = stock
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
