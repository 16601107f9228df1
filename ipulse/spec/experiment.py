"""An experiment: its parts and the rules between them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, model_validator
from pydantic.config import JsonDict

from ipulse.models import ByKind, Field, StrictModel, TextByKey, validate
from ipulse_core.equations.loss import MEMBRANE, READOUTS, equation_texts, names_in
from ipulse_core.equations.neuron import InvalidEquations
from ipulse_core.errors import InvalidSpec, Problem
from ipulse_core.limits import TRIMMED
from ipulse_core.registry.refusals import problems as problems_of_registry
from ipulse_core.spec.derived_values import (
    SPIKE_LOSSES,
    class_count,
    has_own_loss,
    image_of,
    reads_spikes,
    spiking_layers,
)
from ipulse_core.spec.kind_fields import field_of
from ipulse_core.spec.layer_values import equations_in, equations_of_spec
from ipulse_core.spec.nir_targets import SIMULATORS, losses
from ipulse_core.spec.upgrade import translated

from .data import Data
from .data.digits import DigitsData
from .device import CPUDevice, Device
from .export import ExportSpec
from .fields import Seed
from .network.network import NetworkSpec
from .profile import ProfileSpec
from .rules.data import regression_problems, silent_data_problems
from .rules.layers import (
    composed_problems,
    convolution_problems,
    delay_problems,
    equations_problems,
    residual_problems,
)
from .sizes import layer_sizes, weight_count
from .training.own_loss import EquationsPenalty
from .training.training import TrainingSpec
from .versioned import Version, VersionedSpec

MAX_SYNAPSES = 2**27  # weights of the whole network: 512 MiB in float32
MAX_STATE = 2**31  # membrane values that one training step may compute: time * batch * neurons

_EXAMPLE: JsonDict = {
    "version": 1,
    "name": "digits",
    "seed": 1,
    "data": {"kind": "digits"},
    "network": {"layers": [{"neurons": 128, "capacity": 40, "second_threshold": 0.5}]},
    "training": {"epochs": 10, "batch_size": 64},
    "device": {"kind": "cpu"},
}


class ExperimentSpec(VersionedSpec):
    """One experiment: data, network, training and device, with a seed that fixes all of it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    version: Version
    kind: Literal["training"] = Field(default="training", description="Training of a network.")
    network: NetworkSpec = Field(description="The network to train.")
    name: str = Field(
        default="experiment",
        max_length=128,
        pattern=TRIMMED,
        description="A name for people.",
        examples=["digits with 128 neurons"],
    )
    seed: Seed = Field(
        default=0,
        description="Seed of weights and batch order. Equal specs give equal results, bit for bit, "
        "with the same versions of IPUlse, TensorFlow and NumPy on the same model of processor.",
    )
    data: Annotated[Data, ByKind(default="digits")] = Field(
        default=DigitsData(), description="The data set to learn."
    )
    training: TrainingSpec = Field(
        default=TrainingSpec(), description="How the network is trained."
    )
    device: Annotated[Device, ByKind(default="cpu")] = Field(
        default=CPUDevice(), description="The device to run on."
    )
    export: ExportSpec = Field(
        default=ExportSpec(), description="Additional files of the trained network."
    )
    profile: ProfileSpec = Field(
        default=ProfileSpec(), description="Conditions that the profile must meet."
    )
    metadata: TextByKey = Field(
        default={},
        max_length=16,
        description="Up to 16 key-value pairs of your own, stored with the job.",
        examples=[{"project": "thesis"}],
    )

    @model_validator(mode="before")
    @classmethod
    def _translate(cls, value: Any) -> Any:
        """Return the spec in the words of this release."""
        return translated(value)

    def problems(self) -> Iterator[Problem]:
        """Yields what is wrong between data, network, training and device."""
        misfits = list(convolution_problems(self))
        if misfits:  # the sizes of the layers behind are unknown
            yield from misfits
            return
        yield from equations_problems(self)
        yield from self._problems_of_size()
        yield from self._problems_of_loss_equations()
        yield from self._problems_of_readout()
        yield from silent_data_problems(self)
        yield from regression_problems(self)
        yield from problems_of_registry(self)
        yield from composed_problems(self)
        yield from residual_problems(self)
        yield from delay_problems(self)
        yield from self._problems_of_training()
        yield from self._problems_of_export()
        for problem in self.profile.problems_on(self.device):
            yield replace(problem, pointer=f"/profile{problem.pointer}")

    def _problems_of_size(self) -> Iterator[Problem]:
        synapses = weight_count(self)
        if synapses > MAX_SYNAPSES:
            detail = f"the network has {synapses:,} weights; at most {MAX_SYNAPSES:,} are allowed"
            yield Problem("/network/layers", "too_large", detail)
        state = self.data.steps * self.training.batch_size * sum(layer_sizes(self)[1:])
        if state > MAX_STATE:
            detail = (
                f"steps * batch_size * neurons is {state:,}; at most {MAX_STATE:,} are allowed: "
                "use a smaller batch"
            )
            yield Problem("/training/batch_size", "too_large", detail)

    def _problems_of_readout(self) -> Iterator[Problem]:
        readout = self.network.readout
        # 0 classes: those of an uploaded data set, which is looked up at submission.
        classes = class_count(self.data)
        for problem in readout.problems_of_size(classes) if classes else ():
            yield replace(problem, pointer=f"/network/readout{problem.pointer}")
        for pointer, of_spikes in self._readouts_needed():
            yield from self._problems_of_needed_readout(pointer, of_spikes)

    def _readouts_needed(self) -> Iterator[tuple[str, bool]]:
        """Yields, for loss and penalties, whether the readout must spike; nothing if it may."""
        if not has_own_loss(self.training):
            yield "/training/loss", reads_spikes(self.training)
        for pointer, described in equations_in(self.training):
            names = names_in(equation_texts(described)).intersection(READOUTS)
            if names:
                yield pointer, MEMBRANE not in names

    def _problems_of_needed_readout(self, pointer: str, of_spikes: bool) -> Iterator[Problem]:
        readout = self.network.readout
        if of_spikes and readout.kind != "spiking":
            detail = (
                "needs the readout's spikes: set network.readout.neuron.kind to lif, in version 1 "
                "network.readout.kind to spiking"
            )
            yield Problem(pointer, "inconsistent", detail)
        if not of_spikes and readout.kind == "spiking":
            detail = (
                "needs the membrane of a leaky readout, and this readout spikes: choose "
                f"{' or '.join(SPIKE_LOSSES)}, or equations of spike_count or first_spike"
            )
            yield Problem(pointer, "inconsistent", detail)

    def _problems_of_loss_equations(self) -> Iterator[Problem]:
        """Yields what is wrong in equations that read layers, or that the loss does not fit."""
        for pointer, described in equations_in(self.training):
            try:
                equations_of_spec(self, described)
            except InvalidEquations as error:
                for problem in error.problems:
                    yield replace(problem, pointer=f"{pointer}{problem.pointer}")

    def _problems_of_training(self) -> Iterator[Problem]:
        augmentation = self.training.augmentation
        if augmentation is not None and image_of(self.data) is None:
            for name in ("flip", "crop_pixels"):
                if getattr(augmentation, name):
                    detail = "these data are no images: remove it"
                    yield Problem(f"/training/augmentation/{name}", "inconsistent", detail)
        yield from self._problems_of_stopping()
        hidden = len(self.network.layers)
        for number, bound in enumerate(self.training.regularisers):
            if isinstance(bound, EquationsPenalty):
                continue
            if bound.readout and bound.kind != "membrane" and self.network.readout.kind == "leaky":
                pointer = f"/training/regularisers/{number}/readout"
                yield Problem(pointer, "inconsistent", "a leaky readout has no spikes to bound")
            for index, layer in enumerate(bound.layers or ()):
                if layer > hidden:
                    pointer = f"/training/regularisers/{number}/layers/{index}"
                    detail = f"there are {hidden} hidden layers"
                    yield Problem(pointer, "inconsistent", detail)
        second = [
            field_of(layer, "second_threshold") is not None
            for layer in spiking_layers(self.network)
        ]
        if self.training.second_threshold_ramp is not None and not any(second):
            yield Problem(
                "/training/second_threshold_ramp",
                "inconsistent",
                "no layer has a second_threshold to rise to: set one",
            )

    def _problems_of_stopping(self) -> Iterator[Problem]:
        """Yields a metric of samples that must not choose, or that there are not."""
        stopping = self.training.early_stopping
        part, _, figure = ("", "", "") if stopping is None else stopping.metric.partition("_")
        if part == "test" and self.data.validation:
            detail = f"data.validation holds out samples to choose with: use validation_{figure}"
            yield Problem("/training/early_stopping/metric", "inconsistent", detail)
        if part == "validation" and not self.data.validation:
            detail = "there are no validation samples: set data.validation, to 0.1 for example"
            yield Problem("/training/early_stopping/metric", "inconsistent", detail)

    def _problems_of_export(self) -> Iterator[Problem]:
        for index, export in enumerate(self.export.nir):
            if export.on_loss == "refuse":
                for pointer, loss in losses(self.network, export.target):
                    detail = (
                        f"{SIMULATORS[export.target]} cannot run {pointer[1:].replace('/', '.')} "
                        f"({loss}): change it, or set on_loss to warn"
                    )
                    yield Problem(f"/export/nir/{index}/target", "inconsistent", detail)


def parse_spec(value: Any) -> ExperimentSpec:
    """Returns the spec in parsed JSON or YAML.

    Raises:
        InvalidSpec: With every problem and the JSON pointer of each.
    """
    return validate(ExperimentSpec, value, InvalidSpec)


def spec_to_json(spec: StrictModel) -> dict[str, Any]:
    """Returns the resolved spec as JSON, every default written out: what is stored and hashed."""
    return spec.model_dump(mode="json")
