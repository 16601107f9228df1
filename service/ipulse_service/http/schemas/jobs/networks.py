"""The graph of a network file as the API returns it."""

from __future__ import annotations

from pydantic import BaseModel, Field

from ipulse_service.http.schemas.base import example

_TAU = {"name": "tau", "type": "float32", "shape": [128], "low": 0.02, "mean": 0.02, "high": 0.02}
_NODES = [
    {"name": "input", "type": "Input", "parameters": []},
    {"name": "layer_1", "type": "LIF", "parameters": [_TAU]},
    {"name": "output", "type": "Output", "parameters": []},
]
_EDGES = [["input", "layer_1"], ["layer_1", "output"]]


class OutlineParameter(BaseModel):
    """A parameter of a node: one value, or the range of many."""

    name: str
    type: str = Field(description="The type of its numbers, or `text`.")
    shape: list[int] = Field(description="Empty for one value.")
    value: float | str | None = Field(None, description="Of one number or text.")
    low: float | str | None = Field(None, description="The smallest number; text if not finite.")
    mean: float | str | None = None
    high: float | str | None = None


class OutlineNode(BaseModel):
    """A node of a network."""

    name: str
    type: str = Field(description="As NIR names it: LIF, Affine, Conv2d.")
    parameters: list[OutlineParameter]


class NirOutline(BaseModel):
    """The nodes and edges of a NIR file."""

    model_config = example(version="1.0", nodes=_NODES, edges=_EDGES)

    version: str = Field(description="Of the nir package that wrote it; empty if unknown.")
    nodes: list[OutlineNode] = Field(description="Those of a graph within the graph follow it.")
    edges: list[tuple[str, str]] = Field(description="Names of the nodes: from, to.")
