"""Weights that a layer uses as small integers times a scale."""

from typing import Annotated, Literal

from ipulse.models import ExactInteger, Field, StrictModel


class QuantisationSpec(StrictModel):
    """Integer weights: training, evaluation and results use them, and biases stay float32."""

    bits: Annotated[Literal[4, 8], ExactInteger] = Field(
        default=8, description="8: integers from -127 to 127; 4: from -7 to 7."
    )
    scale: Literal["neuron", "layer"] = Field(
        default="neuron",
        description="What has one scale, the largest weight over the largest integer. neuron: the "
        "weights into one neuron, or of one filter; layer: each matrix.",
    )
    power_of_two: bool = Field(
        default=False,
        description="Whether scales are rounded up to powers of two, which chips multiply by in a "
        "shift.",
    )


Quantisation = Annotated[
    QuantisationSpec | None,
    Field(
        description="Quantisation-aware training: every run uses the layer's weight matrices as "
        "integers times a scale; null: as float32."
    ),
]
