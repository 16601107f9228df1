"""The expected cycles of a training step, as the API returns them."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from ipulse.spec import AnySpec, ExperimentSpec
from ipulse_core.prediction.step_cycles import step_cycles
from ipulse_service.http.schemas.base import JOB_ID, example
from ipulse_service.http.schemas.jobs.jobs import CyclesBand
from ipulse_service.jobs.queue.last_activity import LastActivity

_LAYERS = [
    {"name": "layers[0]", "forward": 96_000, "backward": 150_000},
    {"name": "readout", "forward": 34_000, "backward": 61_000},
    {"name": None, "forward": 120_000, "backward": 52_000},
]
CYCLES: dict[str, Any] = {
    "cycles": 513_000,
    "band": {"low": 360_000.0, "high": 720_000.0, "share": 0.8},
    "basis": "estimate",
    "activity": {
        "basis": "last_run",
        "job": JOB_ID,
        "input_spikes": 6.4,
        "layers": [{"name": "layers[0]", "spikes": 8.1, "filled": 64.0}],
    },
    "layers": _LAYERS,
    "compute": 280_000,
    "exchange": 61_000,
    "sync": 42_000,
    "host": 130_000,
}


class LayerActivityInfo(BaseModel):
    """What a layer sends in a step of a sample, on average."""

    name: str
    spikes: float
    filled: float = Field(
        description="Slots that are filled by its spikes, and by neurons with a gradient only."
    )


class ActivityInfo(BaseModel):
    """The activity that the cycles are predicted for."""

    basis: Literal["assumed", "last_run"] = Field(
        description="last_run: the layers fire as in the latest successful training with the same "
        "network and data; assumed: 5 % of the neurons spike in a step, and 20 % have a gradient "
        "where a layer has a second threshold."
    )
    job: str | None = Field(description="That training.")
    input_spikes: float = Field(
        description="Spikes of a sample and step that come in, 5 % of the channels: assumed."
    )
    layers: list[LayerActivityInfo] = Field(description="Of the layers that spike.")


class LayerCyclesInfo(BaseModel):
    """The cycles of a layer in both passes."""

    name: str | None = Field(
        description="Null: what belongs to no layer, such as copies between host and device."
    )
    forward: int
    backward: int


class StepCyclesInfo(BaseModel):
    """The cycles of a training step that the emulator is expected to count."""

    model_config = example(**CYCLES)

    cycles: int = Field(description="The emulator's cycles.")
    band: CyclesBand = Field(description="Cycles of an IPU, if the activity is so.")
    basis: Literal["estimate"] = "estimate"
    activity: ActivityInfo
    layers: list[LayerCyclesInfo]
    compute: int = Field(description="Cycles of the vertices.")
    exchange: int = Field(description="Cycles of exchange between tiles.")
    sync: int = Field(description="Cycles of synchronisation.")
    host: int = Field(description="Cycles of copies between host and device.")

    @classmethod
    def of_spec(cls, spec: AnySpec, last: LastActivity | None) -> Self | None:
        """Returns the prediction for a spec; None for a CPU and what is not predicted."""
        if not isinstance(spec, ExperimentSpec):
            return None
        found = step_cycles(spec, None if last is None else last.rates)
        if found is None:
            return None
        value = found.to_json()
        value["activity"]["job"] = None if last is None else last.job_id
        return cls(**value)
