"""Nobody who reads a spec knows a default: `ipulse_core.spec.upgrade` has filled it in."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
READERS = [
    *("core/ipulse_core/op_manifest", "core/ipulse_core/spec", "ipulse/spec", "ops/ipulse_ops"),
    *("service/ipulse_service", "worker/ipulse_worker/agent", "worker/ipulse_worker/runner"),
]
PARTS = json.loads((ROOT / "core/ipulse_core/spec/parts.json").read_text("utf-8"))["parts"]
FIELDS = {name for fields in PARTS.values() for name in fields}

# Objects that are no resolved specs and have a field of the same name.
OTHERS = {
    # The manifest of an op.
    ("core/ipulse_core/op_manifest/reader.py", "attributes"),
    ("core/ipulse_core/op_manifest/reader.py", "name"),
    ("core/ipulse_core/op_manifest/weights.py", "trainable"),
    # Predicted code of a tile, by its contents.
    ("core/ipulse_core/spec/tile_memory.py", "neurons"),
    # Surrogates and layers of ipulse_ops, and arguments of Keras.
    ("ops/ipulse_ops/conv/tensorflow_op.py", "values"),
    ("ops/ipulse_ops/keras/network_layer.py", "second_threshold"),
    ("ops/ipulse_ops/keras/single_layer.py", "trainable"),
    ("ops/ipulse_ops/lif/cpu_op.py", "values"),
    # What the importer of NIR makes, before it is a spec.
    *(("ipulse/spec/nir_document.py", name) for name in ("delay", "delays", "longest", "shape")),
    # JSON Schema, and specs before they are submitted.
    ("service/ipulse_service/http/openapi.py", "kind"),
    ("service/ipulse_service/selftest/load.py", "metadata"),
    ("service/ipulse_service/selftest/testbed.py", "metadata"),
    # An estimate of work for any kind of data, and counts in the lines that scripts print.
    *(
        ("service/ipulse_service/jobs/queue/work.py", name)
        for name in ("classes", "samples", "samples_per_class", "steps")
    ),
    ("worker/ipulse_worker/runner/user_code/programs/script_output.py", "epochs"),
    ("worker/ipulse_worker/runner/user_code/programs/script_output.py", "steps"),
    # Enumerations of Poplar's pva, and nodes of NIR.
    ("worker/ipulse_worker/runner/profile/pva_profile.py", "name"),
    ("worker/ipulse_worker/runner/results/nir_delays.py", "bias"),
}


def repeated(source: str) -> Iterator[str]:
    """Yields the fields of specs that are read with a default, as an attribute or in JSON."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name: ast.expr | None = None
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 3:
            name = node.args[1]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and len(node.args) == 2:
            name = node.args[0]
        if isinstance(name, ast.Constant) and name.value in FIELDS:
            yield str(name.value)


def test_no_reader_of_a_spec_repeats_a_default() -> None:
    found = {
        (str(path.relative_to(ROOT)), field)
        for folder in READERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in path.parts  # a revision is of its own release
        for field in repeated(path.read_text("utf-8"))
    }
    assert found - OTHERS == set(), "read the field itself, or field_of(part, name)"
    assert OTHERS - found == set(), "this exception is not needed any more"


@pytest.mark.parametrize(
    "line", ['getattr(layer, "delays", None)', 'spec["training"].get("truncate_steps", 0)']
)
def test_a_repeated_default_is_found(line: str) -> None:
    assert list(repeated(line))
    assert not list(repeated(line.replace("delays", "of_others").replace("truncate", "of_others")))
