"""Reads profiles with the names of Graphcore's libpva, where no Poplar SDK is enabled.

An enabled SDK puts its own `pva` on PYTHONPATH, which Python searches before installed packages.
"""

from ipulse_core.pva import *  # noqa: F403 (all of its names, and no others)
