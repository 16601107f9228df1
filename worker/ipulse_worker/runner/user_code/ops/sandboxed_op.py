"""One custom op of a network: its package, its build and its process, for one attempt."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

import ipulse_worker
import poplar_emulator
from ipulse_core.build_cache.progress import ProgressCallback
from ipulse_core.build_cache.toolchain import compiler
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.events import LogEvent
from ipulse_core.op_manifest.manifest import FILE
from ipulse_core.op_manifest.reader import parse_manifest
from ipulse_core.sandbox.bubblewrap import compiler_folders
from ipulse_core.sandbox.python_path import python_folders
from ipulse_core.sandbox.sandbox import Sandbox
from ipulse_core.source_package import unpack_package
from ipulse_core.spec.custom_ops import OpReference
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code import budget
from ipulse_worker.runner.user_code.compilation import PACKAGE, FirstError
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.ops.build import (
    CODELETS,
    KERNEL,
    LIBRARY,
    HeldBuild,
    build_kernel,
    build_poplar,
)
from ipulse_worker.runner.user_code.ops.process import OpProcess
from ipulse_worker.runner.user_code.process import ISOLATED, UserProcess
from ipulse_worker.runner.user_code.tools import ProgramTools, emulator_tools, sdk_tools
from poplar_emulator import build as emulator
from poplar_emulator.build import fingerprint

if TYPE_CHECKING:
    from ipulse.spec import Device

BUILT = "/op"  # a place in the sandbox
# One thread: the sums of the reference must not depend on the processors.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class SandboxedOp:
    """Runs an op, in one process for all layers that it is in."""

    def __init__(
        self,
        reference: OpReference,
        package: Optional[str],
        directory: Path,
        environment: Mapping[str, str],
        log: Callable[[LogEvent], None],
        check: Callable[[], None],
    ) -> None:
        """Unpack and check the package.

        Args:
            reference: of the op in the spec.
            package: path of the downloaded package.
            directory: for the op, of the attempt.
            environment: of the runner; only IPULSE_SANDBOX is read.
            log: receives the output of compiler and op.
            check: raises an error if the attempt was cancelled.

        Raises:
            SandboxUnavailable: there is no sandbox, and the operator has not switched it off.
            InvalidInput: the package or its manifest is wrong.
        """
        self.reference = reference
        self._log = log
        self._errors = FirstError()
        self._sandbox = Sandbox(directory / "scratch", environment, self._see, check)
        self.is_sandboxed = not self._sandbox.is_off
        if package is None:
            detail = f"the op {reference.name} was not downloaded"
            raise InvalidInput([Problem("/network/layers", "missing", detail)])
        directory.mkdir()
        directory.chmod(0o755)  # an agent that runs as root gives ops a user of their own
        folder = directory / "package"
        names = unpack_package(Path(package), reference.digest, folder)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        self._sandbox.add(PACKAGE, folder)
        if FILE not in names:
            raise InvalidInput([Problem("", "missing", f"the package has no {FILE}")])
        self.manifest = parse_manifest((folder / FILE).read_bytes(), names.__contains__)
        self._process: Optional[OpProcess] = None
        self.build = Path()  # of its sources, after `start`; a reference has none
        self._lock: Optional[IO[str]] = None  # of the build

    def start(
        self, device: Device, attributes: Mapping[int, str], report: ProgressCallback
    ) -> None:
        """Build the op, unless it is cached, and start its process.

        attributes: the texts that its layers give it, by their indices.

        Raises ProgramFailure, SandboxUnavailable and OSError.
        """
        folders = {**python_folders(ipulse_worker, poplar_emulator), **compiler_folders(compiler())}
        for place, folder in folders.items():
            self._sandbox.add(place, folder)
        package = self._sandbox.place(PACKAGE)
        files: Dict[str, Any] = {
            "form": "reference",
            "path": f"{package}/{self.manifest.reference}",
        }
        environment = _ENVIRONMENT
        if device.kind == "ipu":  # the process finds the initial weights
            self.build_for_ipus(report)
        elif device.kind == "emulator":
            prefix = emulator.build(progress=report)
            tools = emulator_tools(prefix)
            environment = {**_ENVIRONMENT, **tools.environment}
            self._show_build(self._build(tools, fingerprint(prefix), report))
            files = self._poplar_files(prefix, device.tiles)
        elif self.manifest.kernel:
            self._show_build(
                build_kernel(self._sandbox, self.reference, self.manifest, self._errors, report)
            )
            files = {"form": "kernel", "path": f"{self._sandbox.place(BUILT)}/{KERNEL}"}
        files["gradients"] = self.manifest.gradients
        process = UserProcess(self._sandbox, ISOLATED, environment, budget.OP)
        self._process = OpProcess(self.reference.name, process, budget.OP)
        try:
            self._process.begin(files)
            for layer, text in attributes.items():
                self._process.load(layer, text)
        except ProgramFailure as failure:
            raise ProgramFailure(Reason.BUILD_FAILED, failure.message) from failure

    def build_for_ipus(self, report: ProgressCallback) -> None:
        """Build the op with the worker's SDK, unless it is cached; TensorFlow loads it itself."""
        tools = sdk_tools()
        for place, folder in compiler_folders(compiler()).items():
            self._sandbox.add(place, folder)
        self._show_build(self._build(tools, tools.version, report))

    def _build(self, tools: ProgramTools, made_with: str, report: ProgressCallback) -> HeldBuild:
        for place, folder in tools.folders.items():
            self._sandbox.add(place, folder)
        return build_poplar(
            self._sandbox, self.reference, self.manifest, tools, made_with, self._errors, report
        )

    def _show_build(self, built: HeldBuild) -> None:
        self._lock, self.build = built.lock, built.path
        self._sandbox.add(BUILT, built.path)

    def _poplar_files(self, prefix: Path, tiles: int) -> Dict[str, Any]:
        built, manifest = self._sandbox.place(BUILT), self.manifest
        return {
            "form": "poplar",
            "path": f"{built}/{LIBRARY}",
            "codelets": f"{built}/{CODELETS}" if manifest.codelets else "",
            "prefix": str(prefix),
            "op_name": manifest.op_name,
            "gradient_attributes": manifest.fixed_gradient_attributes,
            "tiles": tiles,
        }

    @property
    def process(self) -> OpProcess:
        """The process, which `start` starts."""
        assert self._process is not None  # noqa: S101 - started in the phase compile
        return self._process

    @property
    def failure(self) -> Optional[BaseException]:
        """The first error of the op. TensorFlow passes on its text only."""
        return None if self._process is None else self._process.failure

    def close(self) -> None:
        """End the op's process, and let go of its build."""
        if self._process is not None:
            self._process.close()
        if self._lock is not None:
            self._lock.close()

    def _see(self, event: LogEvent) -> None:
        self._errors.see(event)
        self._log(event)
