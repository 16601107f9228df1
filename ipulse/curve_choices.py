"""The choices of metric curves, for the service, the client and the command line."""

from __future__ import annotations

from typing import Literal

Scope = Literal["epoch", "step"]
Axis = Literal["epoch", "step", "samples", "training_time", "wall_time", "share"]
