"""A custom op of the user as a layer between the other layers of a network."""

from collections.abc import Iterator
from typing import Literal

from ipulse.models import Field, ScalarByKey
from ipulse_core.errors import Problem
from ipulse_core.op_manifest.attributes import MAX_ATTRIBUTES
from ipulse_core.spec.custom_ops import REFERENCE

from .layers import (
    Capacity,
    Delay,
    NamedLayer,
    Neurons,
    Policy,
    Residual,
    added_field,
    policy_without_capacity,
    too_many_slots,
)

_EXAMPLE = "pool_op@sha256:" + "0123456789abcdef" * 4


class OpLayerSpec(NamedLayer):
    """A custom op that was pushed: it takes the spikes of the layer before and returns spikes.

    The op gets zeros and ones, behind a sum pool numbers of spikes, float32
    `[steps, batch, senders]`, and returns `[steps, batch, neurons]`, in which each value must be
    0 or 1.
    """

    kind: Literal["op"] = Field(description="Layer.")
    op: str = Field(
        pattern=REFERENCE,
        description="The op as `ipulse op push` printed it: its name and the digest of its source "
        "package. A token needs the right to submit code for it.",
        examples=[_EXAMPLE],
    )
    neurons: Neurons = Field(description="Neurons that the op returns, as its manifest says.")
    attributes: ScalarByKey = Field(
        default={},
        max_length=MAX_ATTRIBUTES,
        description="Values of the op's attributes by name; others have the manifest's defaults.",
        examples=[{"width": 2}],
    )
    trainable: bool = Field(
        default=True,
        description="Whether the weights that the op declares in its manifest are trained.",
    )
    capacity: Capacity = added_field(None)
    policy: Policy = added_field("index")
    residual: Residual = added_field(())
    delay: Delay = None

    def problems(self) -> Iterator[Problem]:
        """Yields slots that do not fit the op's neurons."""
        yield from too_many_slots(self, self.neurons)
        yield from policy_without_capacity(self)
