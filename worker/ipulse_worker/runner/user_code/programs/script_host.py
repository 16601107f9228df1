"""TensorFlow scripts on the emulated IPUs of a host."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple, cast

import poplar_emulator
from ipulse_core.build_cache.toolchain import compiler
from ipulse_core.capabilities import IPU_TENSORFLOW
from ipulse_core.data_sets import UPLOADED_FOLDER, UPLOADED_NAME
from ipulse_core.errors import MissingDependency
from ipulse_core.events import Event, LogEvent
from ipulse_core.sandbox.python_path import python_folders, python_path
from ipulse_core.sandbox.sandbox import WORK_PLACE, Sandbox
from ipulse_core.states import Reason
from ipulse_worker.runner.user_code.compilation import PACKAGE, FirstError, compile_in_sandbox
from ipulse_worker.runner.user_code.failure import ProgramFailure
from ipulse_worker.runner.user_code.programs.emulated_host import EmulatedHost
from ipulse_worker.runner.user_code.programs.outputs import REPORTS
from ipulse_worker.runner.user_code.programs.script_output import ScriptOutput
from ipulse_worker.runner.user_code.tools import ProgramTools

if TYPE_CHECKING:
    from ipulse.spec import ScriptSpec

MODULE = "ipu_tensorflow_emulator"
DATASET = "/dataset"  # a place in the sandbox
DATASET_VARIABLE = "IPULSE_DATASET"  # the path of the data set
# The emulator looks for its build in a cache that it may write to.
_START = 'mkdir -p "$IPULSE_CACHE" && ln -sfn "$1" "$IPULSE_CACHE/" && shift && exec "$@"'


class ScriptHost(EmulatedHost):
    """Python with TensorFlow, its module for IPUs emulated, and the custom ops of the spec."""

    what = "script"

    def __init__(self, *arguments: Any) -> None:
        """Take the spec, as every host."""
        super().__init__(*arguments)
        self._spec = cast("ScriptSpec", self.spec)
        self._output = ScriptOutput()
        self._module = Path()  # folder of the emulation of TensorFlow for the IPU
        self._dataset: Optional[Path] = None

    def prepare(self, is_sandboxed: bool) -> None:
        """Look for the emulation, without an import: that would change this process."""
        found = importlib.util.find_spec(MODULE)
        if found is None or found.origin is None:
            raise MissingDependency(f"this worker has no {IPU_TENSORFLOW}, which runs scripts")
        self._module = Path(found.origin).parent
        super().prepare(is_sandboxed)

    @property
    def is_sanitized(self) -> bool:
        """Whether accesses of codelets to memory are checked: no spec of a script asks for it."""
        return False

    def named_files(self) -> Iterator[Tuple[str, str]]:
        """Yield the script and the sources of its custom ops."""
        yield "/script", self._spec.script
        for index, library in enumerate(self._spec.custom_ops):
            for at, name in enumerate(library.sources):
                yield f"/custom_ops/{index}/sources/{at}", name

    def show(self, sandbox: Sandbox, work_dir: Path) -> None:
        """Show this Python with its packages, and the data set."""
        folders = {**python_folders(poplar_emulator), str(self._module): self._module}
        uploaded = work_dir / UPLOADED_FOLDER
        if uploaded.exists():
            self._dataset = folders[DATASET] = uploaded.resolve()
            # An agent that runs as root gives the script a user without rights.
            for path in [self._dataset, *self._dataset.rglob("*")]:
                path.chmod(0o755 if path.is_dir() else 0o444)
        for place, folder in folders.items():
            sandbox.add(place, folder)
        self._place = sandbox.place

    def build(self, sandbox: Sandbox, tools: ProgramTools, out: Path, errors: FirstError) -> float:
        """Compile the custom ops."""
        seconds, package = 0.0, sandbox.place(PACKAGE)
        for library in self._spec.custom_ops:
            sources = [f"{package}/{name}" for name in library.sources]
            command = [*compiler(), "-O1", "-shared", "-fPIC", *sources, "-o", library.name]
            command += [*library.flags, f"-I{package}", *tools.flags]
            what = ", ".join(library.sources)
            seconds += compile_in_sandbox(sandbox, command, tools.environment, out, what, errors)
            if not (out / library.name).is_file():
                detail = f"The compiler wrote no {library.name}."
                raise ProgramFailure(Reason.BUILD_FAILED, detail)
            (out / library.name).chmod(0o755)
        return seconds

    def initial_files(self, build: Path) -> Dict[str, Path]:
        """Return the libraries of custom ops."""
        return {library.name: build / library.name for library in self._spec.custom_ops}

    def command(self, build: str) -> List[str]:
        """Return Python with the script."""
        spec = self._spec
        start = ["/bin/sh", "-c", _START, "sh", str(self._prefix)]
        python = [sys.executable, "-s", "-u", "-m", MODULE, "--quiet"]
        python += ["--tiles", str(spec.device.tiles), *(["--tf1"] if spec.tf1 else [])]
        return [*start, *python, spec.script, *spec.arguments]

    def variables(self, build: str) -> Dict[str, str]:
        """Return the settings of the emulation."""
        roots = [str(self._module.parent), python_path({}, (), poplar_emulator)]
        variables = {
            **self._tools.environment,
            "IPULSE_EMULATOR_IPUS": str(self.spec.device.ipus),
            "IPU_TENSORFLOW_EMULATOR_REPORT": f"{WORK_PLACE}/{REPORTS}",
            "IPU_TENSORFLOW_EMULATOR_METRICS": ",".join(self._spec.outfeeds),
            "PYTHONPATH": ":".join(dict.fromkeys(":".join(roots).split(":"))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONFAULTHANDLER": "1",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "MPLBACKEND": "Agg",
        }
        if self._dataset is not None:
            variables[DATASET_VARIABLE] = self._dataset_place(self._dataset)
        return variables

    def event_of(self, event: LogEvent) -> Iterator[Event]:
        """Yield what the log shows of a line, and the metrics in it."""
        return self._output.events_of(event)

    def why(self, out: Path) -> Optional[str]:
        """Return the exception that ended the script, with a hint."""
        return self._output.error

    @property
    def metrics(self) -> Dict[str, float]:
        """The last value of each metric that the script printed."""
        return self._output.metrics

    def _dataset_place(self, folder: Path) -> str:
        """Return the path of the data set as the script sees it: a file, or a folder."""
        place = self._place(DATASET)
        files = sorted(folder.glob(f"{UPLOADED_NAME}.*"))
        return f"{place}/{files[0].name}" if files else f"{place}/{UPLOADED_NAME}"
