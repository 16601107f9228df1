"""Reads the profile of a Poplar program with the names of Graphcore's libpva.

The package poplar-emulator brings a module `pva` with these names, for scripts that were written
for libpva. `openReport` reads the JSON profile that the emulator writes; the SDK's own `pva` opens
a file of the SDK. Attributes have libpva's names where libpva documents one, so they are in
camelCase. docs/reference/tile_profile.md describes the profile.
"""

from ipulse_core.pva.compilation import CompilationReport as CompilationReport
from ipulse_core.pva.execution import ExecutionReport as ExecutionReport
from ipulse_core.pva.programs import ProfiledProgram as Program
from ipulse_core.pva.programs import ProgramVisitor as ProgramVisitor
from ipulse_core.pva.report import InvalidReport as InvalidReport
from ipulse_core.pva.report import Report as Report
from ipulse_core.pva.report import open_report as open_report

openReport = open_report

__all__ = [
    "CompilationReport",
    "ExecutionReport",
    "InvalidReport",
    "Program",
    "ProgramVisitor",
    "Report",
    "openReport",
    "open_report",
]
