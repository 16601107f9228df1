"""The emulator device: the Poplar op on emulated IPUs in standard TensorFlow."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.build_cache.executables import ExecutableCache
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.spec.part_layers import equation_layers
from ipulse_core.spec.single_layers import has_several_programs
from ipulse_ops.equations.poplar_kernel import build_poplar_equations
from ipulse_ops.lif.cpu import native
from ipulse_ops.lif.poplar import build as poplar_op
from ipulse_ops.lif.poplar.attributes import attributes_of
from ipulse_ops.lif.poplar.tile_plan import tile_plan_of
from ipulse_ops.lif.unsupported import UnsupportedNetwork
from ipulse_ops.sparse import native as sparse_native
from ipulse_worker.runner.backends.device import Device
from ipulse_worker.runner.backends.emulated_profile import (
    cycles_of,
    equations_profiles,
    profile_of_parts,
)
from ipulse_worker.runner.devices.connection import attaches
from ipulse_worker.runner.devices.description import DeviceDescription, Executable, Log
from ipulse_worker.runner.devices.emulated_op import NotCached, compile_op, engine_options
from ipulse_worker.runner.devices.host_link import host_link_options, streams
from ipulse_worker.runner.devices.pool import Pool, Reservation, WaitPolicy
from ipulse_worker.runner.devices.processor import configure_tensorflow, cpu_target, usable_cores
from ipulse_worker.runner.event_writer import Throttle
from ipulse_worker.runner.model.emulated_model import EmulatedModel, training_op
from ipulse_worker.runner.model.equations import equations_layers_of
from ipulse_worker.runner.model.keras_network import placed, placement_of
from ipulse_worker.runner.model.model import Model
from ipulse_worker.runner.model.network import network_of
from poplar_emulator import build as emulator
from poplar_emulator.custom_op import POISON, CustomOp
from poplar_emulator.user_op import EmulatedIPUs, emulated_ipus

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec

OP_FROM = 0.5
PROGRAMS_FROM = 0.7  # of the phase compile: what comes before is built once a machine
PROGRESS_SECONDS = 1.0  # between two progress events


class Emulator(Device):
    """Emulated IPUs run the op; loss and optimizer run there, too, or on the machine's processor.

    Seconds are those of the emulator and cycles are emulated: neither is measured on an IPU.
    """

    kind = "emulator"
    compiled_fraction = PROGRAMS_FROM  # tracing compiles the programs

    def __init__(self, spec: ExperimentSpec, log: Log, check: Callable[[], None]) -> None:
        super().__init__(spec, log, check)
        if spec.device.kind != "emulator":
            raise TypeError(f"the spec asks for the device {spec.device.kind}")
        self._settings = spec.device
        self._threads = usable_cores()
        self._ops: List[CustomOp] = []
        self._mappings: List[Optional[Dict[str, Any]]] = []  # of layers on tiles, by op
        self._parts: List[Tuple[int, str]] = []  # part of the network and name, by op
        self._part = 0  # of a network of several programs, that is traced
        self._model: Optional[Model] = None  # of such a network
        self._lease: Optional[Reservation] = None

    @property
    def emulated(self) -> EmulatedIPUs:
        """The emulated IPUs that ops are compiled for and run on."""
        return emulated_ipus(self._settings.ipus, self._settings.tiles)

    def configure(self) -> None:
        """Set TensorFlow's threads and seed."""
        configure_tensorflow(self._threads, self.spec.seed)

    def compile(self, slots: int) -> Model:
        """Build the kernels, the emulator, the op and the model."""
        native.build_kernels(self.build_progress(0.0, 0.2))  # needed for the initial weights
        native.build_tensorflow_op(self.build_progress(0.2, 0.3))  # needed by the optimizer
        emulator.build(progress=self.build_progress(0.3, OP_FROM))
        self.on_progress(OP_FROM, "the Poplar op and its program")
        poplar_op.build(progress=self.build_progress(OP_FROM, PROGRAMS_FROM))
        cache = ExecutableCache(lambda line: self.log(line, level="warning"))
        self.emulated.options = {
            **POISON,
            **host_link_options(self._settings),
            **engine_options(self._settings.engine_options),
        }
        self.emulated.compiler = lambda **arguments: self._compiled(cache, **arguments)
        if equation_layers(self.spec.network):
            sparse_native.build(self.build_progress(OP_FROM, PROGRAMS_FROM))
        for layer in equations_layers_of(self.spec):
            build_poplar_equations(layer, self.build_progress(OP_FROM, PROGRAMS_FROM))
        batch = self.spec.training.batch_size
        if has_several_programs(self.spec.network):
            arguments = self.spec, slots, self._threads, batch, self.ops, self._enter_part
            self._model = Model(*arguments)
            return self._model
        try:
            attributes_of(network_of(self.spec), slots, placement_of(self._settings))
        except UnsupportedNetwork as error:
            raise InvalidSpec([Problem("/network", "unsupported", str(error))]) from error
        if self._settings.training == "device":
            built = training_op(self.spec, self.build_progress(OP_FROM, PROGRAMS_FROM))
            return EmulatedModel(self.spec, slots, self._threads, self.emulated, built)
        return Model(self.spec, slots, self._threads, batch)

    def acquire(self) -> None:
        """Wait for the emulated IPUs.

        Raises:
            DeviceUnavailable: there are not enough, or none became free in time.
        """
        policy = WaitPolicy(
            self._settings.acquire_poll_seconds,
            self._settings.acquire_timeout_seconds,
            self.check,
            lambda wait: self.report_wait(
                f"waiting for {self._settings.ipus} emulated IPU(s): {wait}"
            ),
        )
        pool = Pool.of_environment(os.environ, cache_directory())
        self._lease = pool.acquire(self._settings.ipus, self.job_id, policy)
        # The pool's number of IPUs may differ from the emulator's default.
        os.environ["IPULSE_EMULATOR_IPUS"] = str(pool.ipus)
        which = ", ".join(str(ipu) for ipu in self._lease.ipus)
        self.log(f"attached to emulator: emulated IPU {which}")

    def release(self) -> None:
        """Unload the op and release the emulated IPUs."""
        self.emulated.close()
        self.emulated.compiler = CustomOp  # the object is shared by the whole process
        self.emulated.scope = ""
        if self._lease is not None:
            self._lease.release()

    def executables(self) -> List[Executable]:
        """Return the compiled Poplar programs."""
        return [Executable(op.cache_key or "", op.is_from_cache) for op in self._ops]

    def kernel_seconds(self) -> Dict[str, float]:
        """Return the seconds of the emulator."""
        return dict(self.emulated.seconds)

    def description(self) -> DeviceDescription:
        """Describe the emulated machine and the op."""
        return DeviceDescription(
            threads=self._threads,
            target=self._target(),
            kernel={"kernel": "Poplar op, emulated", **placed(self.spec, self._settings)},
            compiler=native.built_by(),
        )

    def poplar_profile(self) -> Optional[Dict[str, Any]]:
        """Return the profile of the op with most cycles: a growing capacity compiles new ops.

        That of a network of several programs is of them all.
        """
        if not self._ops:
            return None
        if self._model is not None:
            compiled = zip(self._parts, self._ops)
            equations = equations_profiles(self.spec, self._model.net)
            return profile_of_parts(self.spec, compiled, equations, self.ops, self.log)
        profiles = [op.profile() for op in self._ops]
        at = max(range(len(profiles)), key=lambda op: cycles_of(profiles[op]))
        if self._mappings[at] is not None:
            profiles[at]["compilation"]["tileMapping"] = self._mappings[at]
        return profiles[at]

    def _enter_part(self, number: int) -> None:
        """Compile what is traced next as part `number` of a network of parts."""
        self._part = number
        self.emulated.scope = f"part {number}"

    def _compiled(self, cache: ExecutableCache, **arguments: Any) -> CustomOp:
        """Compile an op; raise NotCached if the job only compiles and cannot store the result."""
        # With NEVER, the result shows whether the program compiles; it is not stored.
        used_cache = None if self.connection == "NEVER" else cache
        op = compile_op(
            cache=used_cache,
            **streams(self.spec, self._part, **arguments),
            **self._compile_callbacks(),
            **arguments,
        )
        if self.connection == "PRE_COMPILE" and op.cache_key is None:
            name = arguments["op_name"]
            raise NotCached(
                f"PRE_COMPILE cannot store the executable of {name}: either the cache cannot be "
                f"written (see the log), or {name}_metadata does not set is_hashable (ipulse op "
                "check)"
            )
        self._ops.append(op)
        self._mappings.append(self._mapping(**arguments))
        self._parts.append((self._part, arguments["op_name"]))
        self.on_progress(1.0 - self._left, "tracing TensorFlow's graph of the training")
        return op

    def _mapping(self, attributes: str, inputs: Any, **_: Any) -> Optional[Dict[str, Any]]:
        """Return how the LIF op maps layers to tiles; None for another op."""
        at = attributes.find("ipulse-lif/")
        if at < 0:
            return None
        (_, (_, batch, _)), *_ = inputs  # ids [time, batch, slots]
        is_half = any(dtype == "float16" for dtype, _ in inputs)
        plan = tile_plan_of(attributes[at:], batch, self._settings.tiles)
        return {**plan, "weight_bytes": 2 if is_half else 4}

    @property
    def _left(self) -> float:
        """The fraction of the compile phase that is left.

        The number of programs is unknown, so each one takes half of the rest.
        """
        return (1.0 - PROGRAMS_FROM) * 0.5 ** len(self._ops)

    def _compile_callbacks(self) -> Dict[str, Any]:
        """Return the callbacks of a CustomOp that report the progress of the next program."""
        left = self._left
        throttle = Throttle(PROGRESS_SECONDS)
        number = len(self._ops) + 1
        done = 1.0 - left

        def progress(step: int, total: int) -> None:
            nonlocal done
            done = 1.0 - left * (1.0 - 0.5 * step / total)
            if throttle.allows() or step == total:
                self.on_progress(done, f"compiling program {number}", steps=(step, total))

        return {
            "progress": progress,
            "on_stage": lambda stage: self.on_progress(done, f"program {number}: {stage}"),
        }

    def _target(self) -> Dict[str, Any]:
        """Return the emulated machine and its host as the target of a profile."""
        emulated: Dict[str, Any] = {}
        if attaches(self.connection):
            emulated = self.emulated.profiles()[-1]["compilation"]["target"]
        host = cpu_target(self._threads)
        what = f"{self._settings.ipus} emulated IPU(s) of {self._settings.tiles:,} tiles"
        model = f"{what} on {host['model']}"
        return {**host, **emulated, "type": "Emulated", "model": model, "emulated": True}
