"""The module that scripts import as `keras.ipu` and `ipu.keras`."""

from __future__ import annotations

from ipu_tensorflow_emulator.addons.keras import layers as layers
from ipu_tensorflow_emulator.addons.keras import optimizers as optimizers
from ipu_tensorflow_emulator.keras_ipu.older import Model as Model
from ipu_tensorflow_emulator.keras_ipu.older import PipelinedModel as PipelinedModel
from ipu_tensorflow_emulator.keras_ipu.older import PipelineModel as PipelineModel
from ipu_tensorflow_emulator.keras_ipu.older import PipelineSequential as PipelineSequential
from ipu_tensorflow_emulator.keras_ipu.older import Sequential as Sequential
from ipu_tensorflow_emulator.keras_ipu.older import (
    SequentialPipelineModel as SequentialPipelineModel,
)
from ipu_tensorflow_emulator.keras_ipu.pipeline_stage import PipelineStage as PipelineStage
from ipu_tensorflow_emulator.keras_models.methods import prepare
from ipu_tensorflow_emulator.keras_models.stages import LayerAssignment

FunctionalLayerPipelineStageAssignment = ModelLayerPipelineStageAssignment = LayerAssignment
SequentialLayerPipelineStageAssignment = LayerAssignment

prepare()
