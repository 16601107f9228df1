"""The CPU device: C++ LIF kernels in standard TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, List

from ipulse_core.build_cache.progress import BuildProgress, ProgressCallback
from ipulse_core.spec.part_layers import has_own_neurons
from ipulse_ops.equations import kernel as equations_kernel
from ipulse_ops.lif.cpu import native
from ipulse_ops.sparse import native as sparse_native
from ipulse_worker.runner.backends.device import Device
from ipulse_worker.runner.devices.description import DeviceDescription, Executable, Log
from ipulse_worker.runner.devices.processor import configure_tensorflow, cpu_target, usable_cores
from ipulse_worker.runner.model.equations import equations_layers_of
from ipulse_worker.runner.model.model import Model

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec


class CPU(Device):
    """The CPU, which is always available."""

    kind = "cpu"

    def __init__(self, spec: ExperimentSpec, log: Log, check: Callable[[], None]) -> None:
        super().__init__(spec, log, check)
        threads = spec.device.threads if spec.device.kind == "cpu" else 0
        self._threads = threads or usable_cores()

    def configure(self) -> None:
        """Set TensorFlow's threads and seed."""
        configure_tensorflow(self._threads, self.spec.seed)

    def compile(self, slots: int) -> Model:
        """Build the kernels and the ops, unless they are cached, and the model."""
        native.build_kernels(self._build_progress(0.0, 0.6))
        built = 0.6
        if _routes_spikes(self.spec):
            sparse_native.build(self._build_progress(built, 0.7))
            built = 0.7
        self._library = native.build_tensorflow_op(
            self._build_progress(built, self.compiled_fraction)
        )
        for layer in equations_layers_of(self.spec):
            equations_kernel.build_equations(
                layer, self._build_progress(built, self.compiled_fraction)
            )
        return Model(self.spec, slots, self._threads, ops=self.ops)

    def acquire(self) -> None:
        """Log the kernel; there is nothing to wait for."""
        kernel = native.description(threads=self._threads)["kernel"]
        self.log(f"attached to cpu: kernel {kernel}, {self._threads} threads")

    def release(self) -> None:
        """Do nothing: nothing was acquired."""

    def executables(self) -> List[Executable]:
        """Return the kernels' library, which is always cached."""
        return [Executable(self._library.parent.name, not self._has_built)]

    _has_built = False

    def _build_progress(self, begin: float, end: float) -> ProgressCallback:
        report = self.build_progress(begin, end)

        def note_and_report(progress: BuildProgress) -> None:
            self._has_built = True
            report(progress)

        return note_and_report

    def kernel_seconds(self) -> Dict[str, float]:
        """Return the kernels' own measurements."""
        found = native.timings()
        for name, seconds in equations_kernel.timings().items():
            found[name] += seconds
        return found

    def description(self) -> DeviceDescription:
        """Describe the processor and the kernels."""
        return DeviceDescription(
            threads=self._threads,
            target=cpu_target(self._threads),
            kernel=native.description(threads=self._threads),
            compiler=native.built_by(),
        )


def _routes_spikes(spec: ExperimentSpec) -> bool:
    """Return whether spikes pass through ops of their own library between layers."""
    layers = (*spec.network.layers, spec.network.readout)
    if any(map(has_own_neurons, layers)):
        return True
    fields = ("dropout", "residual", "delays")
    return any(getattr(layer, name, None) for layer in layers for name in fields)
