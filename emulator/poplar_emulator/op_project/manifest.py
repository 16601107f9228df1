"""op.json, which describes a custom op for its test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.ipu import MK2_TILES

FILE = "op.json"
DTYPES = ("float32", "float16", "int32", "uint32", "bool")
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")
_TEXTS = ("attributes", "gradient_attributes", "op_name")
_FIELDS = (
    *("name", "sources", "codelets", "reference", "inputs", "outputs", "gradients", "tiles"),
    *("tolerance", *_TEXTS),
)


class TensorSpec(NamedTuple):
    """An input or output of the op."""

    name: str
    dtype: str
    shape: Tuple[int, ...]


class OpManifest(NamedTuple):
    """The content of op.json."""

    folder: Path
    name: str
    sources: List[Path]  # C++ of the host
    codelets: List[Path]
    reference: Path  # a Python file with `forward(inputs, attributes)`
    inputs: List[TensorSpec]
    outputs: List[TensorSpec]
    gradients: List[int]  # indices of the inputs that have one
    tiles: int
    tolerance: float  # relative to the largest value of each array
    attributes: str
    gradient_attributes: str
    op_name: str  # name of the C function


def read_manifest(folder: Path) -> OpManifest:
    """Read and check op.json. Raises InvalidInput with the places of all mistakes; OSError."""
    document = strict_json.loads((folder / FILE).read_bytes(), whole_as_int=True)
    problems: List[Problem] = []
    if not isinstance(document, dict):
        raise InvalidInput([Problem("", "wrong_type", "expected an object")], f"wrong {FILE}")
    reader = _Reader(folder, document, problems)
    manifest = reader.manifest()
    if problems:
        raise InvalidInput(problems, f"{folder / FILE} is not valid.")
    return manifest


class _Reader:
    def __init__(self, folder: Path, document: Dict[str, Any], problems: List[Problem]) -> None:
        self._folder = folder
        self._document = document
        self._problems = problems

    def manifest(self) -> OpManifest:
        for name in self._document:
            if name not in _FIELDS:
                self._problem(f"/{name}", f"unknown field; known are {', '.join(_FIELDS)}")
        inputs = self._tensors("inputs")
        name = self._text("name", "")
        if not _NAME.fullmatch(name):
            self._problem("/name", "expected a C identifier")
        return OpManifest(
            folder=self._folder,
            name=name,
            sources=self._files("sources"),
            codelets=self._files("codelets"),
            reference=self._file("/reference", self._text("reference", "reference.py")),
            inputs=inputs,
            outputs=self._tensors("outputs"),
            gradients=self._gradients([tensor.name for tensor in inputs]),
            tiles=int(self._number("tiles", 16, 1, MK2_TILES)),
            tolerance=self._number("tolerance", 1e-5, 0, 1),
            attributes=self._text("attributes", ""),
            gradient_attributes=self._text("gradient_attributes", ""),
            op_name=self._text("op_name", "Build"),
        )

    def _problem(self, pointer: str, detail: str) -> None:
        self._problems.append(Problem(pointer, "invalid", detail))

    def _text(self, name: str, default: str) -> str:
        value = self._document.get(name, default)
        if not isinstance(value, str):
            self._problem(f"/{name}", "expected a text")
            return default
        return value

    def _number(self, name: str, default: float, least: float, most: float) -> float:
        value = self._document.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._problem(f"/{name}", "expected a number")
        elif not least <= value <= most:
            self._problem(f"/{name}", f"expected a number from {least:g} to {most:g}")
        else:
            return value
        return default

    def _list(self, name: str) -> List[Any]:
        value = self._document.get(name, [])
        if not isinstance(value, list):
            self._problem(f"/{name}", "expected a list")
            return []
        return value

    def _files(self, name: str) -> List[Path]:
        listed = enumerate(self._list(name))
        return [self._file(f"/{name}/{index}", value) for index, value in listed]

    def _file(self, pointer: str, value: Any) -> Path:
        if not isinstance(value, str) or not (self._folder / value).is_file():
            self._problem(pointer, f"{value!r} is not a file in {self._folder}")
        return self._folder / str(value)

    def _tensors(self, name: str) -> List[TensorSpec]:
        tensors = []
        if not self._list(name):
            self._problem(f"/{name}", "expected at least one")
        for index, value in enumerate(self._list(name)):
            pointer = f"/{name}/{index}"
            if not isinstance(value, dict):
                self._problem(pointer, "expected an object with name, dtype and shape")
                continue
            shape = value.get("shape")
            if value.get("dtype") not in DTYPES:
                self._problem(f"{pointer}/dtype", f"expected one of {', '.join(DTYPES)}")
            if not isinstance(shape, list) or not all(
                isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in shape
            ):
                self._problem(f"{pointer}/shape", "expected a list of sizes from 1")
                continue
            tensors.append(
                TensorSpec(str(value.get("name", index)), str(value.get("dtype")), tuple(shape))
            )
        return tensors

    def _gradients(self, names: List[str]) -> List[int]:
        indices = []
        for index, name in enumerate(self._list("gradients")):
            if name in names:
                indices.append(names.index(name))
            else:
                self._problem(f"/gradients/{index}", f"{name!r} is not an input")
        return indices
