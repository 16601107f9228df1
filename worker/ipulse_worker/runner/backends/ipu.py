"""The Poplar op on IPUs, through Graphcore's TensorFlow (2.4 to 2.6)."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional

import tensorflow as tf

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.executables import file_sha256, key_of
from ipulse_core.build_cache.limits import Limits
from ipulse_core.errors import Conflict, InvalidSpec, Problem
from ipulse_core.poplar_environment import REPORTS, TRACES
from ipulse_core.spec.resolved_spec import spec_document
from ipulse_core.spec.stretches import runs_in_parts
from ipulse_ops.build_cache.poplar_executables import InUse, PoplarExecutables
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.poplar import sdk
from ipulse_ops.lif.poplar.attributes import attributes_of
from ipulse_ops.lif.poplar.sources import BuiltOp
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from ipulse_worker.runner.backends.device import Device
from ipulse_worker.runner.devices import ipu_users
from ipulse_worker.runner.devices.connection import attaches
from ipulse_worker.runner.devices.description import DeviceDescription, DeviceFile, Executable, Log
from ipulse_worker.runner.devices.ipu_process import (
    configuration,
    executables_in,
    report_files,
    set_environment,
)
from ipulse_worker.runner.devices.pool import DeviceUnavailable, UsageRecords, devices_directory
from ipulse_worker.runner.devices.processor import configure_tensorflow, cpu_target, usable_cores
from ipulse_worker.runner.model.ipu_model import IPUModel
from ipulse_worker.runner.model.keras_network import placed, placement_of
from ipulse_worker.runner.model.network import network_of
from ipulse_worker.runner.profile import pva_profile

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

# TensorFlow's messages if there is no IPU, or none becomes free in time.
_UNAVAILABLE = (
    "no hardware IPU found",
    "Could not find an available device",
    "Unsupported number of IPUs requested",
)


class NoCachedExecutable(Conflict):
    """TensorFlow compiled a program but wrote nothing to its executable cache."""

    code = "not_kept"


class IPU(Device):
    """IPUs for which TensorFlow is configured, once per process.

    TensorFlow compiles a program in the call that first runs it. This call is made on blank batches
    in the compile phase. With ON_DEMAND it is made in the acquire phase, because the same call
    waits for the device after it has compiled.
    """

    kind = "ipu"

    def __init__(self, spec: ExperimentSpec, log: Log, check: Callable[[], None]) -> None:
        super().__init__(spec, log, check)
        if spec.device.kind != "ipu":
            raise TypeError(f"the spec asks for the device {spec.device.kind}")
        self._settings = spec.device
        self._threads = usable_cores()
        self._is_configured = False
        self._in_use: Optional[InUse] = None
        self._records = UsageRecords(devices_directory(os.environ, cache_directory()) / "ipu-jobs")

    @property
    def is_compiled(self) -> bool:
        """Return whether programs are compiled in the compile phase: yes, except with ON_DEMAND."""
        return self.connection != "ON_DEMAND"

    def configure(self) -> None:
        """Set up TensorFlow and its executable cache.

        Raises:
            MissingSDK: Graphcore's TensorFlow is not installed.
            BuildFailed: the op cannot be built.
        """
        built = sdk.built_op(progress=self.build_progress(0.5, 0.5))
        key = self._key(built)
        self._cache = PoplarExecutables()
        self._in_use = self._cache.use(key)
        self._executables = self._in_use.path
        self._kept = executables_in(self._executables)  # before anything is compiled
        set_environment(self._settings, self._executables)
        if self._settings.pvti_options:
            (self.directory / TRACES).mkdir(parents=True, exist_ok=True)
        self._ipu = sdk.tensorflow_ipu()
        configure_tensorflow(self._threads, self.spec.seed)

    def compile(self, slots: int) -> IPUModel:
        """Connect according to the spec and build the model."""
        native.build_kernels(self.build_progress(0.0, 0.2))  # they report the host's properties
        if not runs_in_parts(self.spec.network):  # each part is checked when it is traced
            try:
                attributes_of(network_of(self.spec), slots, placement_of(self._settings))
            except UnsupportedNetwork as error:
                raise InvalidSpec([Problem("/network", "unsupported", str(error))]) from error
        self._connect()
        strategy = self._ipu.ipu_strategy.IPUStrategy()
        executes = attaches(self.connection)
        self._model = IPUModel(self.spec, slots, self._ipu, strategy, executes, self.ops)
        return self._model

    def acquire(self) -> None:
        """Wait for the IPUs.

        Raises:
            DeviceUnavailable: there is no IPU, or none became free in time.
        """
        if self.connection == "ALWAYS":
            self._connect()
        else:
            start = time.monotonic()
            self.on_progress(0.0, "compiling the programs and waiting for the IPUs")
            wanted, seconds = self._settings.ipus, self._settings.acquire_poll_seconds
            with _device_errors(), ipu_users.waiting_logged(
                self._records, wanted, seconds, self.report_wait
            ):
                self._model.warm_up()
            took = f"in {time.monotonic() - start:.2f} s, including the wait for the device"
            executables = self.executables()
            keys = ", ".join(executable.key for executable in executables)
            if executables and all(executable.is_from_cache for executable in executables):
                self.log(f"loaded from the executable cache {took}, nothing compiled: {keys}")
            else:
                self.log(f"compiled {took}")
        which = "" if self._settings.device_id is None else f" of device {self._settings.device_id}"
        self._records.hold(self.job_id, self._settings.ipus)
        self.log(f"attached to ipu: {self._settings.ipus} IPU(s){which}")

    def release(self) -> None:
        """Detach the IPUs and prune the executable cache."""
        if self._is_configured:
            self._ipu.config.reset_ipu_configuration()
            self._is_configured = False
        self._records.drop()
        if self._in_use is not None:
            self._in_use.close()
            self._in_use = None
            self._cache.prune(Limits.of_environment())

    def executables(self) -> List[Executable]:
        """Return the executables in TensorFlow's cache by their file names.

        Raises:
            NoCachedExecutable: the job only compiles, and the cache is empty.
        """
        now = executables_in(self._executables)
        if self.connection == "PRE_COMPILE" and not now:
            raise NoCachedExecutable()
        return [Executable(name, name in self._kept) for name in now]

    def kernel_seconds(self) -> Dict[str, float]:
        """Return zeros: the host cannot measure kernels, but Poplar's profile can."""
        return {"forward": 0.0, "backward": 0.0}

    def description(self) -> DeviceDescription:
        """Describe the IPUs."""
        host = cpu_target(self._threads)
        model = f"{self._settings.ipus} IPU(s) on {host['model']}"
        return DeviceDescription(
            threads=self._threads,
            target={**host, "type": "Ipu", "model": model, "numIPUs": self._settings.ipus},
            kernel={"kernel": "Poplar op", **placed(self.spec, self._settings)},
            compiler=native.built_by(),
        )

    def poplar_profile(self) -> Optional[Dict[str, Any]]:
        """Return the profile, if the spec asks for a report and the SDK's pva can read it."""
        try:
            return pva_profile.most_expensive(self.directory / REPORTS)
        except ImportError:
            self.log(
                "Poplar's report is not converted: this Python has no module pva. It comes with "
                "the Poplar SDK (source .../poplar/enable.sh)",
                level="warning",
            )
            return None

    def files(self) -> List[DeviceFile]:
        """Return the files that Poplar wrote."""
        return report_files(self.directory)

    def _connect(self) -> None:
        """Configure TensorFlow for the IPUs; with ALWAYS this attaches them."""
        if self._is_configured:
            return
        config = configuration(self._ipu, self._settings)
        with _device_errors():
            config.configure_ipu_system()
        self._is_configured = True

    def _key(self, built: BuiltOp) -> str:
        """Return the key of the executables' directory.

        TensorFlow's own hash does not depend on the op's code. It does on the program, so that
        trainings which differ in their seeds alone share a directory (and the service lets the
        trials of a sweep wait for the first of them).
        """
        spec = spec_document(self.spec)
        waits = ("connection_type", "acquire_poll_seconds", "acquire_timeout_seconds")
        others = (*waits, "where", "pool")
        device = {name: value for name, value in spec["device"].items() if name not in others}
        parts = {name: spec[name] for name in ("data", "network", "training")}
        op = [file_sha256(built.library), file_sha256(built.codelets)]
        return key_of({**parts, "device": device, "op": op, "tensorflow": tf.__version__})


@contextmanager
def _device_errors() -> Iterator[None]:
    """Raise DeviceUnavailable if TensorFlow finds no IPU, or none in time."""
    try:
        yield
    except tf.errors.OpError as error:
        message: Any = error.message
        if not any(pattern in message for pattern in _UNAVAILABLE):
            raise
        raise DeviceUnavailable(f"TensorFlow has no IPU for this job: {message}") from error
