"""IPUlse: specs, client and command line of a training service for spiking networks.

`ExperimentSpec` validates a spec; `Client` and `AsyncClient` of `ipulse.client` submit it. The
client needs `ipulse[client]` and the command line `ipulse[cli]`.
"""

from ipulse.spec import ExperimentSpec as ExperimentSpec
from ipulse_core import __version__ as __version__
