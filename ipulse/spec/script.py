"""A TensorFlow script for the IPU as a job: Python that runs in a sandbox, with emulated IPUs."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict
from pydantic.config import JsonDict

from ipulse.models import Field, ListOf, StrictModel
from ipulse_core.errors import Problem
from ipulse_core.ipu import MK2_TILES
from ipulse_core.metric_names import SCRIPT_COUNTS, SCRIPT_METRIC

from .code import CodeDevice, CodeSpec, Flags, Name, ProgramLimits, SourcePath
from .data.file_fields import DATASET_REFERENCE

# Names of capabilities of workers, too.
Requirement = Literal["h5py", "nir", "scikit-learn"]
Metric = Annotated[str, Field(pattern=f"^{SCRIPT_METRIC}$", max_length=64)]

_EXAMPLE: JsonDict = {
    "version": 1,
    "kind": "script",
    "name": "spiking layer in Keras",
    "package": "sha256:" + "0123456789abcdef" * 4,
    "script": "train.py",
    "arguments": ["--epochs", "3"],
}


class ScriptLibrary(StrictModel):
    """A library of custom ops, which is compiled before the script starts."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._+-]{0,91}\.so$")] = Field(
        description="File that the script loads: the library is in the folder in which the script "
        "starts.",
        examples=["liblif.so"],
    )
    sources: ListOf[SourcePath] = Field(
        min_length=1, max_length=64, description="C++ files of the custom ops."
    )
    flags: Flags = ()


class ScriptData(StrictModel):
    """An uploaded data set for a script."""

    kind: Literal["npz", "events", "shd", "ssc", "n_mnist", "dvs_gesture"] = Field(
        default="npz", description="Kind with which the data set was uploaded."
    )
    dataset: str = Field(
        max_length=160,
        pattern=DATASET_REFERENCE,
        description="An uploaded data set: NAME for its latest version, NAME@VERSION, or "
        "`sha256:` and the digest of the content, by which the service replaces the other two. "
        "The script finds it at the path in the environment variable IPULSE_DATASET.",
        examples=["mine@3"],
    )


class ScriptDevice(CodeDevice):
    """The emulated IPUs that a script finds."""

    kind: Literal["emulator"] = Field(
        default="emulator", description="IPUs that this machine's processor emulates."
    )
    tiles: int = Field(
        default=MK2_TILES,
        ge=1,
        le=MK2_TILES,
        description="Tiles of each IPU; fewer run faster.",
    )


class ScriptLimits(ProgramLimits):
    """The limits of a script; a job that needs more fails."""

    # TensorFlow starts several threads for each core.
    processes: int = Field(
        default=1024, ge=8, le=4096, description="Processes and threads at one time."
    )


class ScriptSpec(CodeSpec):
    """A TensorFlow script for the IPU, which a worker runs in a sandbox with emulated IPUs."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    kind: Literal["script"] = Field(description="A TensorFlow script.")
    script: SourcePath = Field(description="Python file that is run.", examples=["train.py"])
    custom_ops: ListOf[ScriptLibrary] = Field(
        default=(), max_length=16, description="Libraries of custom ops to compile."
    )
    requirements: ListOf[Requirement] = Field(
        default=(),
        max_length=16,
        description="Packages that the script imports besides NumPy, TensorFlow and Keras. Nothing "
        "is installed: the job runs on a worker that has them.",
    )
    tf1: bool = Field(
        default=False,
        description="The script is for TensorFlow 1: `tensorflow` is `tensorflow.compat.v1`, "
        "without eager execution.",
    )
    outfeeds: ListOf[Metric] = Field(
        default=(),
        max_length=32,
        description="Metrics that the script sends through an IPUOutfeedQueue: keys of the dicts "
        "that it enqueues. Tensors without a key take the remaining names, in the order in which "
        "they are enqueued first. A metric gets a point for each element that the script dequeues.",
        examples=[["loss", "accuracy"]],
    )
    data: ScriptData | None = Field(default=None, description="A data set for the script.")
    name: Name = "script"
    device: ScriptDevice = Field(
        default=ScriptDevice(), description="The IPUs that the script finds."
    )
    limits: ScriptLimits = Field(default=ScriptLimits(), description="What the script may use.")

    @property
    def main_files(self) -> tuple[str, ...]:
        """The script."""
        return (self.script,)

    def problems(self) -> Iterator[Problem]:
        """Yields libraries of one name, and metrics that are twice there or are counts."""
        names = [library.name for library in self.custom_ops]
        for index, name in enumerate(names):
            if name in names[:index]:
                detail = f"{name} would be written twice: give the libraries different names"
                yield Problem(f"/custom_ops/{index}/name", "duplicate", detail)
        for index, metric in enumerate(self.outfeeds):
            if metric in self.outfeeds[:index]:
                detail = f"{metric} is there twice: give each metric a name of its own"
                yield Problem(f"/outfeeds/{index}", "duplicate", detail)
            if metric in SCRIPT_COUNTS:
                detail = f"{metric} counts the points of a curve: choose another name"
                yield Problem(f"/outfeeds/{index}", "reserved", detail)
