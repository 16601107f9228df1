"""docs/reference/what-runs-where.md: the capability table."""

from __future__ import annotations

from collections.abc import Iterator

from ipulse_core.registry.absent import ABSENT, OTHERWISE
from ipulse_core.registry.features import FEATURES
from ipulse_core.registry.kinds import DEVICES, LAYER_KINDS
from ipulse_core.registry.refusals import MATHEMATICS, MEMORY, NOT_WRITTEN, REFUSALS
from ipulse_core.registry.table import RUNS, cell_of, counts

_HEAD = """\
# What runs where

Written by `make docs` from `core/ipulse_core/registry/`, which also holds the rules at submission.
`ipulse spec runs` prints the same, and a running service answers `GET /v1/capabilities`.

Each table has a row for a feature and a column for a kind of layer, for networks that have such a
layer and are otherwise dense. A cell says whether the feature runs there:

* **yes**: it runs, and **yes, but**: it does, but not with something that [the reasons](#reasons)
  name;
* **no**: nobody wrote it yet, or it does not fit; the reasons name it;
* **other**: the kind has it in another form; **–**: it has no meaning there.
"""
_SHOWN = {RUNS: "yes", NOT_WRITTEN: "no", MEMORY: "no", MATHEMATICS: "–", OTHERWISE: "other"}
_DEVICES = """\
## Counts

`ipu` was not seen on a device: its cells are tested on a strict stand-in for Graphcore's
TensorFlow.

| device | runs | not written | memory | other form | no meaning |
| --- | --- | --- | --- | --- | --- |
"""


def capability_page() -> str:
    """Returns the page as Markdown."""
    parts = [_HEAD, _DEVICES + "\n".join(_count_rows()), _kinds()]
    for name, device in DEVICES.items():
        parts.append(f"## On `{name}`\n\n{device.sentence}\n\n" + "\n".join(_device_rows(name)))
    parts.append("## Reasons\n\n" + "\n".join(_reason_rows()))
    return "\n\n".join(parts) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _count_rows() -> Iterator[str]:
    for device, found in counts().items():
        order = (RUNS, NOT_WRITTEN, MEMORY, OTHERWISE, MATHEMATICS)
        yield _row(f"`{device}`", *(str(found[verdict]) for verdict in order))


def _kinds() -> str:
    lines = [
        "## Kinds of layers\n",
        "| column | `kind` in a spec | connections | neurons | NIR | what it is |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in LAYER_KINDS.values():
        nir = ", ".join(kind.nir) or "not exported"
        cells = (kind.kind, kind.connections, kind.neurons, nir, kind.sentence)
        lines.append(_row(f"`{kind.name}`", *cells))
    return "\n".join(lines)


def _device_rows(device: str) -> Iterator[str]:
    yield _row("feature", *(f"`{kind}`" for kind in LAYER_KINDS))
    yield _row("---", *("---" for _ in LAYER_KINDS))
    for feature in FEATURES.values():
        found = [cell_of(feature.name, kind, device) for kind in LAYER_KINDS]
        yield _row(
            f"{feature.sentence} (`{feature.name}`)",
            *("yes, but" if cell.not_combined_with else _SHOWN[cell.verdict] for cell in found),
        )


def _reason_rows() -> Iterator[str]:
    yield _row("feature", "together with", "on", "why not")
    yield _row("---", "---", "---", "---")
    for refusal in REFUSALS:
        on = [name for name in refusal.on if name in DEVICES]
        if not on:
            continue
        text = refusal.text("this device")
        combined_with = ", ".join(f"`{name}`" for name in refusal.combined_with)
        devices = "every device" if len(on) == len(DEVICES) else ", ".join(f"`{d}`" for d in on)
        yield _row(f"`{refusal.feature}`", combined_with, devices, text)
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for feature in FEATURES:
        places: dict[str, list[str]] = {}
        for place in (*LAYER_KINDS, *DEVICES):
            if (feature, place) in ABSENT:
                places.setdefault(ABSENT[feature, place].reason, []).append(place)
        for reason, listed in places.items():
            names.setdefault((reason, tuple(listed)), []).append(feature)
    for (reason, where), of in names.items():
        shown = ", ".join(f"`{place}`" for place in where)
        is_device = where[0] in DEVICES
        kinds, devices = ("", shown) if is_device else (shown, "every device")
        yield _row(", ".join(f"`{name}`" for name in of), kinds, devices, reason)
