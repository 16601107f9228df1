"""Reads profiles with the names of Graphcore's libpva: `from poplar_emulator import pva`."""

from ipulse_core.pva import CompilationReport as CompilationReport
from ipulse_core.pva import ExecutionReport as ExecutionReport
from ipulse_core.pva import InvalidReport as InvalidReport
from ipulse_core.pva import Program as Program
from ipulse_core.pva import ProgramVisitor as ProgramVisitor
from ipulse_core.pva import Report as Report
from ipulse_core.pva import open_report as open_report
from ipulse_core.pva import openReport as openReport
