"""The custom ops of a network, for one attempt: which layer runs which op, and how."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from ipulse_core.build_cache.progress import ProgressCallback
from ipulse_core.errors import InvalidSpec
from ipulse_core.events import LogEvent
from ipulse_core.op_manifest.weights import OpWeight
from ipulse_core.spec.custom_ops import (
    OpReference,
    Shape,
    indexed_ops,
    layer_weights,
    network_problems,
    op_names,
)
from ipulse_worker.runner.user_code.ops.process import Arrays
from ipulse_worker.runner.user_code.ops.sandboxed_op import SandboxedOp
from ipulse_worker.runner.user_code.ops.user_op import UserOpFiles

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class CustomOps:
    """Runs the layers of a network that are custom ops."""

    def __init__(
        self,
        spec: ExperimentSpec,
        packages: Mapping[str, str],
        directory: Path,
        environment: Mapping[str, str],
        log: Callable[[LogEvent], None],
        check: Callable[[], None],
    ) -> None:
        """Unpack and check the packages.

        Args:
            spec: of the training.
            packages: paths of the downloaded packages by their digests.
            directory: of the attempt.
            environment: of the runner; only IPULSE_SANDBOX is read.
            log: receives the output of compiler and ops.
            check: raises an error if the attempt was cancelled.

        Raises:
            SandboxUnavailable: there is no sandbox, and the operator has not switched it off.
            InvalidInput: a package or its manifest is wrong, or does not fit the network.
        """
        self._spec = spec
        by_name: Dict[str, SandboxedOp] = {}
        for number, name in enumerate(op_names(spec.network)):
            reference, folder = OpReference.of(name), directory / f"op-{number}"
            package = packages.get(reference.digest)
            by_name[name] = SandboxedOp(reference, package, folder, environment, log, check)
        manifests = {name: op.manifest for name, op in by_name.items()}
        problems = network_problems(manifests, spec)
        if problems:
            raise InvalidSpec(problems)
        layers = indexed_ops(spec.network)
        self._ops = list(by_name.values())
        self._op_of = {index: by_name[layer.op] for index, layer in layers}
        self._attributes = {
            index: manifests[layer.op].attributes_with(layer.attributes) for index, layer in layers
        }
        self._neurons = {index: layer.neurons for index, layer in layers}

    @property
    def is_sandboxed(self) -> bool:
        """True if the ops run in sandboxes."""
        return all(op.is_sandboxed for op in self._ops)

    def name_of(self, layer: int) -> str:
        """Return the name of the op of a layer."""
        return self._op_of[layer].reference.name

    @property
    def names(self) -> List[str]:
        """The names of the ops."""
        return [op.reference.name for op in self._ops]

    def start(self, report: ProgressCallback) -> None:
        """Build the ops, unless they are cached, and start their processes.

        Raises ProgramFailure, SandboxUnavailable and OSError.
        """
        for op in self._ops:
            texts = {i: self._attributes[i] for i in self._op_of if self._op_of[i] is op}
            op.start(self._spec.device, texts, report)

    def weights_of(self, layer: int) -> List[Tuple[OpWeight, Shape]]:
        """Return the weights of layer `layer`, an index from 0, with their shapes."""
        manifest = self._op_of[layer].manifest
        shapes = layer_weights(manifest, self._spec, layer)
        return [(weight, shapes[weight.name]) for weight in manifest.weights]

    def weight_shapes(self) -> Dict[int, Dict[str, Shape]]:
        """Return the shapes of the weights by the index of the layer and their names."""
        return {
            index: {weight.name: shape for weight, shape in self.weights_of(index)}
            for index in self._op_of
        }

    def weight_counts(self) -> Dict[int, int]:
        """Return the number of weights of each layer, by its index."""
        found = self.weight_shapes()
        return {index: sum(map(math.prod, shapes.values())) for index, shapes in found.items()}

    def user_op(self, layer: int) -> UserOpFiles:
        """Return how TensorFlow for the IPU loads the op of a layer; only after `start`."""
        op = self._op_of[layer]
        return UserOpFiles.of(op.build, op.manifest, self._attributes[layer])

    def build_for_ipus(self, report: ProgressCallback) -> List[Path]:
        """Build the ops with the worker's SDK and return the folders. Raises as `start`."""
        for op in self._ops:
            op.build_for_ipus(report)
        return [op.build for op in self._ops]

    def forward(self, layer: int, spikes: np.ndarray, weights: Arrays) -> np.ndarray:
        """Return the spikes `[steps, batch, neurons]` of layer `layer`, an index from 0."""
        shape = (*spikes.shape[:2], self._neurons[layer])
        process = self._op_of[layer].process
        return process.forward(layer, self._attributes[layer], spikes, weights, shape)

    def backward(
        self,
        layer: int,
        gradient: np.ndarray,
        spikes: np.ndarray,
        weights: Arrays,
        output: np.ndarray,
    ) -> List[np.ndarray]:
        """Return the gradients of the layer's input, and of its weights; 0 of those without."""
        op, attributes = self._op_of[layer], self._attributes[layer]
        wanted = op.manifest.gradients
        found = op.process.backward(layer, attributes, gradient, spikes, weights, output, wanted)
        by_index = dict(zip(wanted, found))
        return [
            by_index[index] if index in by_index else np.zeros_like(entering)
            for index, entering in enumerate([spikes, *weights])
        ]

    def profile(self, layer: int) -> Dict[str, Any]:
        """Return the profile of the op's program for a layer, on an emulated IPU.

        Raises ProgramFailure.
        """
        op = self._op_of[layer]
        return op.process.profile(layer, self._attributes[layer])

    @property
    def failure(self) -> Optional[BaseException]:
        """The first error of an op. TensorFlow passes on its text only."""
        return next((op.failure for op in self._ops if op.failure is not None), None)

    def close(self) -> None:
        """End the processes."""
        for op in self._ops:
            op.close()
