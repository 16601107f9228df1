"""A report, and the function that opens the file of one."""

from __future__ import annotations

import importlib
import json
from os import PathLike
from pathlib import Path
from typing import Any, Dict, Union

from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.pva.compilation import CompilationReport
from ipulse_core.pva.execution import ExecutionReport
from ipulse_core.pva.node import Document, Node

_COMPILATION = {"tiles": list, "programs": list, "computeSets": list, "target": dict, "graph": dict}
_EXECUTION = {"runs": list, "totals": list, "totalCycles": dict}
_PARTS = {"compilation": _COMPILATION, "execution": _EXECUTION}
_NAMES: Dict[type, str] = {list: "list", dict: "object"}


class InvalidReport(InvalidInput):
    """The file is not the profile of a Poplar program."""

    code = "invalid_report"


class Report(Node):
    """The profile of a Poplar program."""

    def __init__(self, document: Document) -> None:
        """Wrap a profile. Raises InvalidReport if the document is not one."""
        _check(document)
        super().__init__(document, document.get("compilation", {}), "report")

    @property
    def compilation(self) -> CompilationReport:
        """The report of the compiler. Raises AttributeError if the file lacks it."""
        return self._child(CompilationReport, "compilation")

    @property
    def execution(self) -> ExecutionReport:
        """The report of what ran. Raises AttributeError if nothing ran."""
        if not self.has_run:
            detail = "nothing ran: the program was only compiled, or did not fit into the tiles"
            raise AttributeError(f"this report has no execution: {detail}")
        return self._child(ExecutionReport, "execution")

    @property
    def has_run(self) -> bool:
        """True if the report has what ran."""
        return "execution" in self._data

    @property
    def is_emulated(self) -> bool:
        """True if the emulator computed the cycles."""
        return bool(self._data.get("emulated"))


def open_report(path: Union[str, PathLike[str]], debug: str = "") -> Any:
    """Return the report of a file, as libpva's `openReport` does.

    Args:
        path: `poplar_profile.json` of a job or `profile.json` of an emulated program: a Report.
            The SDK's own `pva` opens its `profile.pop`, whose report is returned.
        debug: path of the SDK's `debug.cbor`; not used for a JSON profile.

    Raises:
        InvalidReport: the file is not a profile, or the SDK's `pva` is needed and not installed.
        OSError: the file cannot be read.
    """
    data = Path(path).read_bytes()
    if data.lstrip()[:1] != b"{":
        return _open_with_sdk(str(path), debug)
    try:
        document = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        detail = f"{path}: not a JSON profile ({error}); the file may be truncated"
        raise _invalid("", detail) from error
    return Report(document)


def sdk_module() -> Any:
    """Return the `pva` of a Poplar SDK. Raises ImportError if none is enabled."""
    found = importlib.import_module("pva")
    if getattr(found, "Report", None) is Report:
        raise ImportError("the module pva that is installed is the emulator's")
    return found


def _open_with_sdk(path: str, debug: str) -> Any:
    try:
        pva = sdk_module()
    except ImportError as error:
        detail = (
            f"{path}: not a JSON profile; if it is a report of the Poplar SDK, its Python module "
            "`pva` is needed to open it"
        )
        raise _invalid("", detail) from error
    return pva.openReport(path, debug) if debug else pva.openReport(path)


def _check(document: Dict[str, Any]) -> None:
    if str(document.get("schema")).startswith("ipulse.profile/"):
        detail = (
            "this is a job's profile.json, which has no tiles: open its poplar_profile.json, "
            "which jobs on emulator and IPU have"
        )
        raise _invalid("/schema", detail)
    parts = [(name, document[name]) for name in _PARTS if name in document]
    if not parts:
        raise _invalid("", "this is not the profile of a Poplar program: it has no compilation")
    for name, part in parts:
        if not isinstance(part, dict):
            raise _invalid(f"/{name}", "expected an object")
        for member, kind in _PARTS[name].items():
            if not isinstance(part.get(member), kind):
                raise _invalid(f"/{name}/{member}", f"expected a {_NAMES[kind]}")


def _invalid(pointer: str, detail: str) -> InvalidReport:
    return InvalidReport([Problem(pointer, "invalid_report", detail)])
