"""An experiment that is written in Python, as a document of the spec."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ipulse.spec import ExperimentSpec, parse_spec, spec_to_json
from ipulse.spec.field_tree import fields_of
from ipulse.spec.paths import find_path, with_near_names, with_value
from ipulse_core.errors import InvalidSpec
from ipulse_core.registry.versions import raise_to_2

from .layers import joined, readout_of, with_pool
from .part import plain

_VERSION = {"version": 2}
# Parts that may be given by the name of their kind: device="emulator".
_TAGS = {"data": "kind", "optimizer": "kind", "device": "kind"}
_TAGS |= {"surrogate": "name"}

Part = Mapping[str, Any]


class Experiment:
    """An experiment: data, network, training and device. `check` reports what is wrong with it.

    Every further field of the spec is a keyword too. Its name is the end of its path, by the rules
    of `ipulse submit --set`: `slope=20` is network.surrogate.slope. What is not given has the
    spec's default. An experiment does not change; `replace` returns another one.

    Args:
        name: A name for people.
        data: The data set, such as data.Digits(), or the name of its kind.
        layers: The hidden layers, input side first; a pool between two of them is of the second.
        readout: The output layer: Leaky() or Spiking().
        optimizer: The optimizer: Adam(), AdamW() or SGD().
        epochs: Passes over the training samples.
        batch_size: Samples per step.
        seed: Seed of weights and batch order.
        device: The device: CPU(), Emulator(), IPU(), or the name of its kind.
        fields: Other fields of the spec, by the ends of their paths.
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        data: Part | str | None = None,
        layers: Sequence[Part] | None = None,
        readout: Part | str | None = None,
        optimizer: Part | str | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        seed: int | None = None,
        device: Part | str | None = None,
        **fields: Any,
    ) -> None:
        usual = {
            "name": name,
            "seed": seed,
            "data": data,
            "layers": layers,
            "readout": readout,
            "optimizer": optimizer,
            "epochs": epochs,
            "batch_size": batch_size,
            "device": device,
        }
        given = [(path, value) for path, value in usual.items() if value is not None]
        self._document = _replaced(_VERSION, [*given, *fields.items()])

    @classmethod
    def from_spec(cls, spec: ExperimentSpec | Mapping[str, Any]) -> Experiment:
        """Return the experiment of a spec, or of a document of one."""
        experiment = cls()
        document = plain(spec)
        experiment._document = raise_to_2(document) if isinstance(spec, BaseModel) else document
        return experiment

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Experiment:
        """Read a YAML or JSON file; `check` checks its fields.

        Raises InvalidSpec if it is neither, InvalidInput if it cannot be read.
        """
        from ipulse.spec.document.file import read_spec_file

        file = read_spec_file(Path(path))
        if not isinstance(file.value, dict):
            file.spec()  # raises the error with its line
        return cls.from_spec(file.value)

    def replace(self, **fields: Any) -> Experiment:
        """Return a copy with other values, such as epochs=5.

        A path that Python cannot write as a keyword is given as `**{"layers[0].neurons": 256}`.
        Paths are those of `ipulse submit --set`. Raises InvalidSpec for a path that several fields
        have, and for one that leads nowhere.
        """
        document = self._document
        if any(name.rpartition(".")[2] in ("layers", "readout") for name in fields):
            document = raise_to_2(document)  # as the parts are
        return self.from_spec(_replaced(document, fields.items()))

    def check(self) -> None:
        """Raise InvalidSpec with every problem, and the place of each, if there is one."""
        self.spec()

    def spec(self) -> ExperimentSpec:
        """Return the experiment as the model that the service stores. Raises InvalidSpec."""
        try:
            return parse_spec(self._document)
        except InvalidSpec as error:
            problems = [with_near_names(self._document, problem) for problem in error.problems]
            raise InvalidSpec(problems, error.message) from None

    def to_json(self) -> dict[str, Any]:
        """Return the document: what was given, without the defaults."""
        return dict(plain(self._document))

    def to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the document as YAML, and write it to a file if a path is given."""
        from ipulse.spec.document.yaml_writer import yaml_text

        text = yaml_text(self._document)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Experiment):
            return NotImplemented
        return bool(self._resolved() == other._resolved())

    __hash__ = None  # type: ignore[assignment]  # equal ones may be written in different ways

    def __repr__(self) -> str:
        name = self._document.get("name", ExperimentSpec.model_fields["name"].default)
        return f"<{type(self).__name__} {name!r}>"

    def _resolved(self) -> Any:
        try:
            return spec_to_json(parse_spec(self._document))
        except InvalidSpec:
            return self._document


def _replaced(document: dict[str, Any], fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a document with other values: whole parts first, then what is inside of them."""
    waiting = _in_version_2(document, fields)
    for depth in (1, 2, 3):
        rest = []
        for path, value in waiting:
            tokens = _known_path(document, path)
            if tokens is not None and len(tokens) <= depth:
                document = with_value(document, tokens, _tagged(tokens[-1], value))
            else:
                rest.append((path, value))
        waiting = rest
    for path, value in waiting:
        tokens = find_path(document, path)
        document = with_value(document, tokens, _tagged(tokens[-1], value))
    return document


def _in_version_2(
    document: dict[str, Any], fields: Iterable[tuple[str, Any]]
) -> list[tuple[str, Any]]:
    """Return the fields with layers and readout as documents of version 2 have them."""
    found = dict(fields)
    pool = None
    for name, value in found.items():
        last = name.rpartition(".")[2]
        if last == "layers" and isinstance(value, Iterable) and not isinstance(value, str):
            found[name], pool = joined(value)
        elif last == "readout":
            found[name] = readout_of(value)
    if pool is not None:
        [name] = [name for name in found if name.rpartition(".")[2] == "readout"] or ["readout"]
        former = document.get("network", {}).get("readout", {})
        found[name] = with_pool(found.get(name, former), pool)
    return list(found.items())


def _known_path(document: dict[str, Any], path: str) -> Sequence[str] | None:
    """Return the path of a field, or None where other fields may have to be set before."""
    try:
        tokens = find_path(document, path)
    except InvalidSpec:
        return None
    return tokens if tokens in fields_of(document) else None


def _tagged(name: str, value: Any) -> Any:
    if isinstance(value, str) and name in _TAGS:
        return {_TAGS[name]: value}
    return plain(value)
