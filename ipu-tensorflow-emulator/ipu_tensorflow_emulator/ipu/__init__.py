"""The module that scripts import as `tensorflow.python.ipu`."""

from __future__ import annotations

import atexit

from ipu_tensorflow_emulator import keras_ipu as keras  # noqa: F401 (scripts read ipu.keras)
from ipu_tensorflow_emulator import refused, report, tensorflow_setup
from ipu_tensorflow_emulator.activation import announce
from ipu_tensorflow_emulator.ipu import autoshard as autoshard
from ipu_tensorflow_emulator.ipu import config as config
from ipu_tensorflow_emulator.ipu import distributed as distributed
from ipu_tensorflow_emulator.ipu import functional_ops as functional_ops
from ipu_tensorflow_emulator.ipu import gradient_accumulation as gradient_accumulation
from ipu_tensorflow_emulator.ipu import ipu_compiler as ipu_compiler
from ipu_tensorflow_emulator.ipu import ipu_infeed_queue as ipu_infeed_queue
from ipu_tensorflow_emulator.ipu import ipu_outfeed_queue as ipu_outfeed_queue
from ipu_tensorflow_emulator.ipu import ipu_run_config as ipu_run_config
from ipu_tensorflow_emulator.ipu import ipu_strategy as ipu_strategy
from ipu_tensorflow_emulator.ipu import loops as loops
from ipu_tensorflow_emulator.ipu import ops as ops
from ipu_tensorflow_emulator.ipu import optimizers as optimizers
from ipu_tensorflow_emulator.ipu import scopes as scopes
from ipu_tensorflow_emulator.ipu import sharding as sharding
from ipu_tensorflow_emulator.ipu import utils as utils
from ipu_tensorflow_emulator.ipu.functional_ops import function as function
from ipu_tensorflow_emulator.ipu.functional_ops import outlined_function as outlined_function
from ipu_tensorflow_emulator.ipu.ops import cross_replica_ops as cross_replica_ops
from ipu_tensorflow_emulator.ipu.ops import custom_ops as custom_ops
from ipu_tensorflow_emulator.ipu.ops import embedding_ops as embedding_ops
from ipu_tensorflow_emulator.ipu.ops import image_ops as image_ops
from ipu_tensorflow_emulator.ipu.ops import internal_ops as internal_ops
from ipu_tensorflow_emulator.ipu.ops import math_ops as math_ops
from ipu_tensorflow_emulator.ipu.ops import nn_ops as nn_ops
from ipu_tensorflow_emulator.ipu.ops import normalization_ops as normalization_ops
from ipu_tensorflow_emulator.ipu.ops import pipelining_ops as pipelining_ops
from ipu_tensorflow_emulator.ipu.ops import rand_ops as rand_ops
from ipu_tensorflow_emulator.ipu.ops import replication_ops as replication_ops
from ipu_tensorflow_emulator.ipu.ops import rnn_ops as rnn_ops

if tensorflow_setup.has_estimators():
    from ipu_tensorflow_emulator.ipu import ipu_estimator as ipu_estimator
    from ipu_tensorflow_emulator.ipu import ipu_pipeline_estimator as ipu_pipeline_estimator
globals().update(refused.modules(__name__))  # what is not there
globals().update(refused.modules(ops.__name__))
horovod = distributed
normalisation_ops = normalization_ops
# Optimizers were modules of their own in older SDKs.
ipu_optimizer = gradient_accumulation_optimizer = cross_replica_optimizer = optimizers

tensorflow_setup.prepare()
announce()
atexit.register(report.at_exit)
