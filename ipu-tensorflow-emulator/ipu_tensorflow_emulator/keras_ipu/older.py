"""Models of SDK 2.1 and older: `ipu.keras.Model`, `Sequential`, and their pipelines.

Their execution is a whole epoch, so that `steps_per_execution` needs not be set.
"""

from __future__ import annotations

from typing import Any, List, Optional

import tensorflow as tf

from ipu_tensorflow_emulator.keras_models.methods import set_pipeline_stage_assignment
from ipu_tensorflow_emulator.keras_models.options import note, options_of


def _accumulating(model: Any, count: Optional[int], named: Any) -> Any:
    options = options_of(model)
    options.runs_epochs = True
    options.accumulation = options.pipelined_accumulation = count or 1
    options.device_mapping = named.pop("device_mapping", None)
    options.schedule = named.pop("pipeline_schedule", None)
    note("ipu.keras", named)
    return model


def Model(
    inputs: Any,
    outputs: Any,
    gradient_accumulation_count: Optional[int] = None,
    name: Any = None,
    **named: Any,
) -> Any:
    """Return a functional model that accumulates gradients."""
    model = tf.keras.Model(inputs, outputs, name=name)
    return _accumulating(model, gradient_accumulation_count, named)


def Sequential(
    layers: Any = None,
    gradient_accumulation_count: Optional[int] = None,
    name: Any = None,
    **named: Any,
) -> Any:
    """Return a sequential model that accumulates gradients."""
    model = tf.keras.Sequential(layers, name=name)
    return _accumulating(model, gradient_accumulation_count, named)


def PipelineModel(
    inputs: Any,
    outputs: Any,
    gradient_accumulation_count: Optional[int] = None,
    name: Any = None,
    **named: Any,
) -> Any:
    """Return a functional model whose layers PipelineStage assigned to stages."""
    count = gradient_accumulation_count or named.pop("pipeline_depth", None)
    return Model(inputs, outputs, count, name, **named)


def PipelineSequential(
    layers: List[List[Any]],
    gradient_accumulation_count: Optional[int] = None,
    name: Any = None,
    **named: Any,
) -> Any:
    """Return a sequential model from a list of layers for each stage.

    Raises ValueError unless there are two stages or more.
    """
    if len(layers) < 2 or not all(isinstance(stage, (list, tuple)) for stage in layers):
        raise ValueError(
            "PipelineSequential takes a list of two stages or more, each a list of layers"
        )
    count = gradient_accumulation_count or named.pop("pipeline_depth", None)
    model = Sequential([each for stage in layers for each in stage], count, name, **named)
    stages = [number for number, stage in enumerate(layers) for _ in stage]
    set_pipeline_stage_assignment(model, stages[-len(model.layers) :])
    return model


SequentialPipelineModel = PipelinedModel = PipelineSequential
