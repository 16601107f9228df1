"""The capability table as the API returns it."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import example


class FeatureInfo(BaseModel):
    """A feature of a network, a training or a device."""

    name: str
    place: str = Field(description="The part of a spec: layer, network, training, device, export.")
    field: str = Field(description="The path of its field in that part.")
    text: str


class LayerKindInfo(BaseModel):
    """A kind of layer."""

    name: str
    kind: str = Field(description="`kind` in a spec.")
    nir: list[str] = Field(description="Nodes of a NIR file; none if it is not exported.")
    text: str


class DeviceKindInfo(BaseModel):
    """A kind of device."""

    name: str
    is_seen: bool = Field(description="Whether tests run on the device, not on a stand-in.")
    text: str


class NotCombinedWith(BaseModel):
    """Another feature, with which a feature does not run."""

    feature: str
    reason: str


class CapabilityCell(BaseModel):
    """Whether a feature runs in a network with a kind of layer on a device."""

    feature: str
    kind: str
    device: str
    verdict: str = Field(
        description="runs; or why not: not written, mathematics (it has no meaning), memory, or "
        "otherwise (the kind has it in another form)."
    )
    reason: str = Field(description="Why not, and what to do; empty where it runs.")
    not_combined_with: list[NotCombinedWith]


_CELL = {
    "feature": "dropout",
    "kind": "dense",
    "device": "ipu",
    "verdict": "not written",
    "reason": "spikes are not dropped on ipu: remove it, or use device kind cpu or emulator",
    "not_combined_with": [],
}


class CapabilityTable(BaseModel):
    """The features that each device runs, or the reason why it does not."""

    model_config = example(
        features=[
            {
                "name": "dropout",
                "place": "layer",
                "field": "dropout",
                "text": "Dropout of senders",
            }
        ],
        kinds=[
            {
                "name": "dense",
                "kind": "dense",
                "nir": ["Linear", "LIF"],
                "text": "Fully connected LIF neurons",
            }
        ],
        devices=[{"name": "ipu", "is_seen": False, "text": "The Poplar op on IPUs."}],
        cells=[_CELL],
    )

    features: list[FeatureInfo]
    kinds: list[LayerKindInfo]
    devices: list[DeviceKindInfo]
    cells: list[CapabilityCell]
