"""IPUlse: specs, client and command line of a training service for spiking networks.

`ExperimentSpec` validates a spec; `Client` and `AsyncClient` of `ipulse.client` submit it. The
client needs `ipulse[client]` and the command line `ipulse[cli]`.
"""

from typing import TYPE_CHECKING, Any

from ipulse_core import __version__ as __version__

if TYPE_CHECKING:
    from ipulse.spec import ExperimentSpec as ExperimentSpec

__all__ = ["ExperimentSpec", "__version__"]


def __getattr__(name: str) -> Any:
    """Imports the spec on first use: a command must start before it can handle Ctrl-C."""
    if name != "ExperimentSpec":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ipulse.spec import ExperimentSpec

    return ExperimentSpec
