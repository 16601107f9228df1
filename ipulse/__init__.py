"""The words everyone in IPUlse speaks: the experiment spec, the states of a job, events and errors.

The core (`spec`, `schema`, `states`, `events`, `errors`, `strict_json`) is standard library only
and runs on Python 3.8; the client needs `ipulse[client]` and the command line `ipulse[cli]`.
"""

from ipulse_core import __version__ as __version__
