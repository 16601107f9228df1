"""Reads op.json, and finds all of its mistakes."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Union

from ipulse_core import strict_json
from ipulse_core.errors import InvalidInput, Problem
from ipulse_core.ipu import MK2_TILES
from ipulse_core.op_manifest.attributes import OpAttribute, read_attributes
from ipulse_core.op_manifest.expressions import WrongSize, size_of
from ipulse_core.op_manifest.fields import unknown_fields
from ipulse_core.op_manifest.manifest import FILE, NAME, OpManifest, OpTensor
from ipulse_core.op_manifest.weights import MAX_RANK, PER_BATCH, is_size, read_weights

DTYPES = ("float32", "float16", "int32", "uint32", "bool")
MAX_TENSORS = 32


def parse_manifest(content: bytes, has_file: Callable[[str], bool]) -> OpManifest:
    """Returns the checked content of op.json. Raises InvalidInput with all mistakes."""
    document = strict_json.loads(content, whole_as_int=True)
    if not isinstance(document, dict):
        raise InvalidInput([Problem("", "wrong_type", "expected an object")], f"wrong {FILE}")
    problems: List[Problem] = []
    manifest = _Reader(document, problems, has_file).manifest()
    if problems:
        raise InvalidInput(problems, f"{FILE} is not valid.")
    return manifest


class _Reader:
    def __init__(
        self, document: Dict[str, Any], problems: List[Problem], has_file: Callable[[str], bool]
    ) -> None:
        self._document = document
        self._problems = problems
        self._has_file = has_file

    def manifest(self) -> OpManifest:
        for pointer, detail in unknown_fields(self._document, OpManifest._fields):
            self._problem(pointer, detail)
        name = self._text("name", "")
        if not re.fullmatch(NAME, name):
            self._problem("/name", "expected a C identifier of at most 64 characters")
        attributes = self._attributes()
        sizes = self._sizes()
        inputs = self._tensors("inputs")
        weights = read_weights(self._document.get("weights", []), self._problems)
        names = [*(each.name for each in inputs), *(each.name for each in weights)]
        manifest = OpManifest(
            name=name,
            sources=self._files("sources"),
            codelets=self._files("codelets"),
            kernel=self._files("kernel"),
            reference=self._file("/reference", self._text("reference", "reference.py")),
            inputs=inputs,
            outputs=self._tensors("outputs"),
            weights=weights,
            gradients=self._gradients(names),
            sizes=sizes,
            tiles=int(self._number("tiles", 16, 1, MK2_TILES)),
            tolerance=self._number("tolerance", 1e-5, 0, 1),
            attributes=attributes,
            gradient_attributes=self._text("gradient_attributes", ""),
            op_name=self._text("op_name", "Build"),
        )
        if manifest.codelets and not manifest.sources:
            self._problem("/codelets", "codelets need the host part that uses them: list sources")
        self._check_weights(manifest)
        if not self._problems:
            self._check_shapes(manifest)
        return manifest

    def _check_weights(self, manifest: OpManifest) -> None:
        """Compare the weights with the other fields."""
        names = [tensor.name for tensor in manifest.entering]
        for index, weight in enumerate(manifest.weights):
            at = len(manifest.inputs) + index
            if weight.name in names[:at]:
                self._problem(f"/weights/{index}/name", f"there are two tensors {weight.name}")
            elif weight.trainable and at not in manifest.gradients:
                detail = (
                    f'{weight.name} is trained: list "{weight.name}", or set trainable to false'
                )
                self._problem("/gradients", detail)

    def _check_shapes(self, manifest: OpManifest) -> None:
        """Compute all shapes of the test, which shows wrong expressions."""
        for field in ("inputs", "weights", "outputs"):
            sizes = manifest.test_sizes
            if field == "weights":
                sizes = {name: sizes[name] for name in sizes if name not in PER_BATCH}
            for index, tensor in enumerate(getattr(manifest, field)):
                for axis, size in enumerate(tensor.shape):
                    try:
                        size_of(size, sizes)
                    except WrongSize as error:
                        self._problem(f"/{field}/{index}/shape/{axis}", f"{error}; see sizes")

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

    def _files(self, name: str) -> List[str]:
        listed = enumerate(self._list(name))
        return [self._file(f"/{name}/{index}", value) for index, value in listed]

    def _file(self, pointer: str, value: Any) -> str:
        if not isinstance(value, str) or not self._has_file(value):
            self._problem(pointer, f"{value!a} is not a file in the op's folder")
        return str(value)

    def _attributes(self) -> Union[str, Dict[str, OpAttribute]]:
        value = self._document.get("attributes", "")
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            return read_attributes(value, self._problems)
        self._problem("/attributes", "expected a text, or declarations by name")
        return ""

    def _sizes(self) -> Dict[str, int]:
        value = self._document.get("sizes", {})
        if not isinstance(value, dict):
            self._problem("/sizes", "expected sizes by name")
            return {}
        found: Dict[str, int] = {}
        for name, size in value.items():
            if type(size) is int and size > 0 and re.fullmatch(NAME, name):
                found[name] = size
            else:
                pointer = f"/sizes/{strict_json.escape(name)}"
                self._problem(pointer, "expected a name, and a whole number from 1")
        return found

    def _tensors(self, name: str) -> List[OpTensor]:
        tensors: List[OpTensor] = []
        listed = self._list(name)
        if not 1 <= len(listed) <= MAX_TENSORS:
            self._problem(f"/{name}", f"expected 1 to {MAX_TENSORS}")
        for index, value in enumerate(listed[:MAX_TENSORS]):
            pointer = f"/{name}/{index}"
            if not isinstance(value, dict):
                self._problem(pointer, "expected an object with name, dtype and shape")
                continue
            shape = value.get("shape")
            if value.get("dtype") not in DTYPES:
                self._problem(f"{pointer}/dtype", f"expected one of {', '.join(DTYPES)}")
            if not isinstance(shape, list) or len(shape) > MAX_RANK or not all(map(is_size, shape)):
                detail = "expected a list of whole numbers from 1 and expressions of sizes"
                self._problem(f"{pointer}/shape", detail)
                continue
            tensors.append(
                OpTensor(str(value.get("name", index)), str(value.get("dtype")), tuple(shape))
            )
        return tensors

    def _gradients(self, names: List[str]) -> List[int]:
        indices = []
        for index, name in enumerate(self._list("gradients")):
            if name in names:
                indices.append(names.index(name))
            else:
                self._problem(f"/gradients/{index}", f"{name!a} is neither an input nor a weight")
        return indices
