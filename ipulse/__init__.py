"""IPUlse: specs, client and command line of a training service for spiking networks.

`Experiment` describes a training, `connect` returns a connection to the service that runs it.
`open_report` opens the profile of a Poplar program, with the names of Graphcore's libpva.
Names are imported on first use, so that `import ipulse` is quick. The connection needs
`ipulse[client]` and the command line `ipulse[cli]`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from ipulse.client import JobFailed as JobFailed
    from ipulse.client import compare as compare
    from ipulse.client import connect as connect
    from ipulse.client import connect_async as connect_async
    from ipulse.experiment import Experiment as Experiment
    from ipulse.experiment import data as data
    from ipulse.experiment.parts import CPU as CPU
    from ipulse.experiment.parts import IPU as IPU
    from ipulse.experiment.parts import LIF as LIF
    from ipulse.experiment.parts import SGD as SGD
    from ipulse.experiment.parts import Adam as Adam
    from ipulse.experiment.parts import AdamW as AdamW
    from ipulse.experiment.parts import Adaptation as Adaptation
    from ipulse.experiment.parts import ArcTan as ArcTan
    from ipulse.experiment.parts import AtLeast as AtLeast
    from ipulse.experiment.parts import AtMost as AtMost
    from ipulse.experiment.parts import AveragePool as AveragePool
    from ipulse.experiment.parts import Boxcar as Boxcar
    from ipulse.experiment.parts import Clipping as Clipping
    from ipulse.experiment.parts import Conv1D as Conv1D
    from ipulse.experiment.parts import Conv2D as Conv2D
    from ipulse.experiment.parts import Delays as Delays
    from ipulse.experiment.parts import EarlyStopping as EarlyStopping
    from ipulse.experiment.parts import Emulator as Emulator
    from ipulse.experiment.parts import Equations as Equations
    from ipulse.experiment.parts import Exponential as Exponential
    from ipulse.experiment.parts import GrowingSlots as GrowingSlots
    from ipulse.experiment.parts import Leaky as Leaky
    from ipulse.experiment.parts import Parameter as Parameter
    from ipulse.experiment.parts import Quantised as Quantised
    from ipulse.experiment.parts import Ramp as Ramp
    from ipulse.experiment.parts import Schedule as Schedule
    from ipulse.experiment.parts import Spiking as Spiking
    from ipulse.experiment.parts import State as State
    from ipulse.experiment.parts import SumPool as SumPool
    from ipulse.experiment.parts import SuperSpike as SuperSpike
    from ipulse.experiment.parts import Table as Table
    from ipulse.spec import ExperimentSpec as ExperimentSpec
    from ipulse_core.pva import open_report as open_report

_PARTS = (
    *("CPU", "IPU", "LIF", "SGD", "Adam", "AdamW", "ArcTan", "AtLeast", "AtMost", "Boxcar"),
    *("Clipping", "EarlyStopping", "Emulator", "Exponential", "GrowingSlots", "Leaky", "Ramp"),
    *("Adaptation", "AveragePool", "Conv1D", "Conv2D", "Delays", "Quantised", "SumPool"),
    *("Equations", "Parameter", "Schedule", "Spiking", "State", "SuperSpike", "Table"),
)
# Modules by the names that they define.
_MODULES = {
    **dict.fromkeys(_PARTS, "ipulse.experiment.parts"),
    "Experiment": "ipulse.experiment",
    "ExperimentSpec": "ipulse.spec",
    **dict.fromkeys(("JobFailed", "compare", "connect", "connect_async"), "ipulse.client"),
    "open_report": "ipulse_core.pva",
}

__all__ = ["__version__", "data", *_MODULES]


def __getattr__(name: str) -> Any:
    """Imports a name on first use: a command must start before it can handle Ctrl-C."""
    if name == "__version__":
        from ipulse_core.version import version

        return version()
    if name == "data":
        return import_module("ipulse.experiment.data")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
