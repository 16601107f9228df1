"""The examples that a worker can run, found in the folder itself.

Every file there is a job, a script, a part of one of these, or is named with the reason why no
worker runs it (`EXCLUDED`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ipulse_core.spec.job_kinds import CODE_KINDS
from tests.service.datasets.files import spikes
from tests.test_questions import SMALL, TILES

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
# Fewer samples by kind of data. With one epoch, examples of minutes take seconds.
FEWER = {
    "digits": ["data.samples=128"],
    "randman": ["data.samples_per_class=16"],
    "delayed_recall": ["data.samples_per_class=32"],
}
SHORTER = {
    "few_samples.yaml": ["data.samples=500"],  # nine tenths are for the test
    "spike_count.yaml": ["training.second_threshold_ramp.epochs=1"],
}
# Arguments of programs; the others need none.
ARGUMENTS = {
    "poplar/engine_options.cpp": ["kept"],
    "poplar/save_and_load.cpp": ["program.exe"],
    **{
        f"questions/{name}.cpp": [f"tilesPerIPU={TILES}", *sizes.split()]
        for name, sizes in SMALL.items()
    },
}
# No worker of a new service runs these; a test holds each reason against the file.
EXCLUDED = {
    "shd.yaml": "trains on recordings that must be downloaded",
    "neuron_package": "is installed with pip beside an agent, and the image has no pip",
}
_GUIDE = ROOT / "docs" / "guides" / "regression.md"  # makes the data of regression.yaml


class Job(NamedTuple):
    """A spec, and what is set on its command line."""

    name: str  # of the file in `examples/`
    file: Path
    settings: list[str]
    op: str = ""  # the folder in `examples/` or "" for none; "new": that of `ipulse op new`


def specs() -> list[str]:
    """Return the names of the specs."""
    return _names("*.yaml")


def programs() -> list[str]:
    """Return the names of the Poplar programs."""
    return [name for name in _names("*.cpp") if _text(name, r"^int main\(")]


def scripts() -> list[str]:
    """Return the names of the Python programs that no spec runs as a job."""
    run_by_spec = {str(Path(name).parent / document(name).get("script", "")) for name in specs()}
    found = [name for name in _names("*.py") if _text(name, r'^if __name__ == "__main__"')]
    return [name for name in found if name not in run_by_spec]


def ops() -> list[str]:
    """Return the folders of ops."""
    return [str(Path(name).parent) for name in _names("op.json")]


def is_excluded(name: str) -> bool:
    """Return whether a file is named with a reason, by itself or with its folder."""
    return any(name == each or name.startswith(f"{each}/") for each in EXCLUDED)


def jobs(scratch: Path) -> Iterator[Job]:
    """Yield every job. Specs of programs that have none are written to `scratch`."""
    run_by_spec = set()
    for name in specs():
        if is_excluded(name):
            continue
        spec = document(name)
        if spec.get("kind") in CODE_KINDS:
            run_by_spec |= {str(Path(name).parent / source) for source in spec.get("sources", [])}
            yield Job(name, EXAMPLES / name, [])
        else:
            has_op = any("op" in layer for layer in spec["network"]["layers"])
            yield Job(name, EXAMPLES / name, shorter(name, spec), "new" if has_op else "")
    for name in programs():
        if name not in run_by_spec:
            yield Job(name, _program(name, scratch), [])
    for folder in ops():
        base = "ops/pooled_digits.yaml"
        layer = {"op": {"name": "leaky@sha256:" + "0" * 64}, "neurons": 64}
        settings = [*shorter(base, document(base)), f"network.layers[1]={json.dumps(layer)}"]
        yield Job(folder, EXAMPLES / base, settings, folder)


def shorter(name: str, spec: dict[str, Any]) -> list[str]:
    """Return the settings that make an example short, here and in the containers."""
    kind = spec["data"]["kind"]
    return ["training.epochs=1", *FEWER.get(kind, []), *SHORTER.get(name, [])]


def data_set(spec: Path, folder: Path, made: dict[str, Path]) -> Path | None:
    """Return the file of a user that a spec names, in `folder`; None if it names none.

    made: what the scripts of `examples/` wrote, by the name of the data set.
    """
    wanted = yaml.safe_load(spec.read_text("utf-8")).get("data", {}).get("dataset")
    if wanted is None or wanted in made:
        return made.get(wanted)
    path = folder / f"{wanted}.npz"
    if spec.name == "own_data.yaml":
        path.write_bytes(spikes())
    else:
        [code] = re.findall(r"```python\n(.*?savez.*?)```", _GUIDE.read_text("utf-8"), re.DOTALL)
        exec(code.replace(f'"{wanted}.npz"', repr(str(path))), {})  # noqa: S102 - our own guide
    return path


def document(name: str) -> dict[str, Any]:
    """Return a spec as it is written."""
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / name).read_text("utf-8"))
    return found


def _program(name: str, scratch: Path) -> Path:
    source = EXAMPLES / name
    path = scratch / f"{source.parent.name}-{source.stem}.json"
    spec = {
        "version": 1,
        "kind": "poplar_program",
        "name": source.stem,
        "package": str(source.parent),
        "sources": [source.name],
        "arguments": ARGUMENTS.get(name, []),
    }
    path.write_text(json.dumps(spec), "utf-8")
    return path


def _names(pattern: str) -> list[str]:
    found = sorted(EXAMPLES.rglob(pattern))
    return [path.relative_to(EXAMPLES).as_posix() for path in found]


def _text(name: str, pattern: str) -> bool:
    return bool(re.search(pattern, (EXAMPLES / name).read_text("utf-8"), re.MULTILINE))
