"""The profile of a job as tables."""

from __future__ import annotations

from typing import Any

from ipulse.optional_modules import data_frame

_LAYER_FIELDS = ("neurons", "capacity", "firing_rate", "gradient_share", "spikes_per_sample")


class JobProfile:
    """Where the time, the spikes and the memory of an attempt went.

    Attributes:
        json: The whole profile.json; docs/reference/profile.md is its schema.
    """

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json

    @property
    def layers(self) -> Any:
        """One row per spiking layer: size, capacity, activity and dropped spikes, a DataFrame."""
        layers = self._layers()
        columns: dict[str, list[Any]] = {"layer": [str(layer["layer"]) for layer in layers]}
        for name in _LAYER_FIELDS:
            columns[name] = [layer[name] for layer in layers]
        for when in ("training", "held_out"):
            columns[f"dropped_{when}"] = [layer["overflow"][when] for layer in layers]
        return data_frame(columns, "layer")

    @property
    def phases(self) -> Any:
        """The seconds of every phase of the attempt, a DataFrame."""
        phases = self.json["execution"]["phases"]
        return _seconds(phases, "phase")

    @property
    def steps(self) -> Any:
        """The parts of a training step, in seconds, a DataFrame; empty without a step."""
        runs = self.json["execution"]["runs"]
        parts = runs[0]["steps"]["parts"] if runs else []
        columns: dict[str, list[Any]] = {"part": [part["name"] for part in parts]}
        for name in ("total", "mean", "p50", "p95", "max"):
            columns[name] = [part["seconds"].get(name) for part in parts]
        columns["share"] = [part.get("share") for part in parts]
        return data_frame(columns, "part")

    @property
    def memory(self) -> dict[str, int]:
        """The bytes by use."""
        return {name: entry["bytes"] for name, entry in self.json["memory"].items()}

    @property
    def capacities(self) -> list[int | None]:
        """The final capacity of every spiking layer."""
        return [layer["capacity"] for layer in self._layers()]

    def diff(self, other: JobProfile) -> Any:
        """The differences of another profile: seconds, samples per second and bytes, a DataFrame.

        Rows are indexed by part (speed, phases, step, layers or memory) and name, and have the
        values `before` in this profile and `after` in the other one; what is equal is left out.
        For programs on tiles see `ipulse profile diff`.
        """
        from ipulse_core.pva.job_difference import JobDifference  # slow, and of few programs

        found = JobDifference(self.json, other.json)
        changes = [
            {"part": part, **change.to_json()}
            for part in ("speed", "phases", "step", "layers", "memory")
            for change in getattr(found, part)
            if change.amount or change.before is None or change.after is None
        ]
        names = ("part", "name", "before", "after", "change", "relative")
        columns = {name: [change[name] for change in changes] for name in names}
        return data_frame(columns).set_index(["part", "name"])

    def __repr__(self) -> str:
        attempt = self.json["attempt"]
        return f"<{type(self).__name__} of {attempt['job_id']}, attempt {attempt['number']}>"

    def _layers(self) -> list[dict[str, Any]]:
        layers: list[dict[str, Any]] = self.json["activity"]["layers"]
        return layers


def _seconds(entries: list[dict[str, Any]], title: str) -> Any:
    columns = {
        title: [entry["name"] for entry in entries],
        "seconds": [entry["seconds"] for entry in entries],
    }
    return data_frame(columns, title)
