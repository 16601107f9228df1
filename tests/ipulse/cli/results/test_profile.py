"""`ipulse profile diff` and the tiles of `ipulse profile`."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ipulse_core.pva.report import Report
from tests.ipulse.cli.conftest import Run

KINDS = ("sync", "exchange", "compute", "host")


def tile(variable: int) -> dict[str, Any]:
    total = {"includingGaps": variable + 100, "excludingGaps": variable + 100}
    category = {"variable": {"total": variable}, "stack": {"total": 100}}
    return {"memory": {"total": total, "alwaysLiveBytes": variable, "category": category}}


def step(program: int, compute: int, **more: Any) -> dict[str, Any]:
    cycles = dict.fromkeys((f"{kind}Cycles" for kind in KINDS), 10)
    return {"program": program, "executions": 2, **cycles, "computeCycles": compute, **more}


@pytest.fixture
def document() -> dict[str, Any]:
    """The profile of a program with two layers on two tiles."""
    programs = [
        {"_id": n, "name": name, "type": "DoExchange", "children": []}
        for n, name in enumerate(("layer1/integrate", "all_layers/spread", "copy"))
    ]
    target = {"numTiles": 2, "tilesPerIpu": 2, "numIPUs": 1, "bytesPerTile": 1000}
    shared = {"computeCyclesByScope": {"layer1": 60, "readout": 40}}
    totals = [step(0, 100), step(1, 200, **shared), step(2, 0)]
    return {
        "emulated": True,
        "compilation": {
            "target": {**target, "architecture": "ipu2", "numReplicas": 1},
            "graph": {},
            "tiles": [tile(500), tile(300)],
            "computeSets": [],
            "programs": programs,
        },
        "execution": {
            "runs": [],
            "totals": totals,
            "totalCycles": {"total": 390},
            "computeCyclesByTile": [300, 150],
        },
    }


def written(path: Path, document: dict[str, Any]) -> str:
    path.write_text(json.dumps(document))
    return str(path)


@pytest.fixture
def slower(document: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    execution = changed["execution"]
    execution["totals"][1]["computeCycles"] += 100
    execution["totalCycles"]["total"] += 100
    execution["computeCyclesByTile"][1] += 100
    changed["compilation"]["tiles"][1] = tile(301)
    changed["compilation"]["programs"][2]["name"] = "renamed"
    return changed


def test_the_difference_names_programs_layers_and_tiles(
    offline: Run, tmp_path: Path, document: dict[str, Any], slower: dict[str, Any]
) -> None:
    files = written(tmp_path / "a.json", document), written(tmp_path / "b.json", slower)
    found = offline("profile", "diff", *files, "--json").json
    figures = {change["name"]: change for change in found["figures"]}
    assert (figures["cycles"]["before"], figures["cycles"]["after"]) == (390, 490)
    assert figures["max_tile_memory"]["change"] == 0
    programs = {change["name"]: (change["before"], change["after"]) for change in found["programs"]}
    assert programs == {"all_layers/spread": (230, 330), "copy": (30, None), "renamed": (None, 30)}
    layers = {change["name"]: change["change"] for change in found["layers"]}
    assert layers == {"layer 1": pytest.approx(60), "readout": pytest.approx(40)}
    assert [change["name"] for change in found["tile_memory"]] == ["tile 1"]
    assert [change["change"] for change in found["tile_cycles"]] == [100]
    shown = offline("profile", "diff", *files).out
    assert "+25.6%" in shown
    assert "renamed" in shown


def test_a_profile_equals_itself(offline: Run, tmp_path: Path, document: dict[str, Any]) -> None:
    file = written(tmp_path / "a.json", document)
    ran = offline("profile", "diff", file, file, "--fail-if", "cycles>+0%")
    assert ran.code == 0
    assert "equal" in ran.out
    found = offline("profile", "diff", file, file, "--json").json
    assert [found[name] for name in ("programs", "layers", "tile_memory", "tile_cycles")] == [
        []
    ] * 4


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("cycles>+25%", 1),
        ("cycles > +26%", 0),
        ("cycles>+99", 1),
        ("cycles>+100", 0),
        ("cycles>=490", 1),
        ("cycles<400", 0),
        ("max_tile_memory>0.5KiB", 1),
        ("max_tile_memory>0.6KiB", 0),
        ("cycles<-1%", 0),
    ],
)
def test_a_condition_sets_the_exit_code(
    offline: Run,
    tmp_path: Path,
    document: dict[str, Any],
    slower: dict[str, Any],
    condition: str,
    code: int,
) -> None:
    files = written(tmp_path / "a.json", document), written(tmp_path / "b.json", slower)
    assert offline("profile", "diff", *files, "--fail-if", condition).code == code


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("cycle>+5%", "max_tile_memory"),
        ("cycles>5%", "+5%"),
        ("cycles>5KiB", "KiB"),
        ("cycles", "such as"),
        ("max_tile_memory>5KB", "KiB"),
    ],
)
def test_a_wrong_condition_is_explained(
    offline: Run, tmp_path: Path, document: dict[str, Any], condition: str, message: str
) -> None:
    file = written(tmp_path / "a.json", document)
    ran = offline("profile", "diff", file, file, "--fail-if", condition)
    assert ran.code == 2
    assert message in ran.err


def test_unlike_targets_need_force(
    offline: Run, tmp_path: Path, document: dict[str, Any], slower: dict[str, Any]
) -> None:
    slower["compilation"]["target"]["tilesPerIpu"] = 4
    files = written(tmp_path / "a.json", document), written(tmp_path / "b.json", slower)
    ran = offline("profile", "diff", *files)
    assert ran.code == 2
    assert "tilesPerIpu is 2 and 4" in ran.err
    assert offline("profile", "diff", *files, "--force").code == 0


def test_files_that_are_no_profiles(offline: Run, tmp_path: Path, document: dict[str, Any]) -> None:
    good = written(tmp_path / "a.json", document)
    bad = tmp_path / "b.json"
    bad.write_text(json.dumps(document)[:-40])
    ran = offline("profile", "diff", good, str(bad))
    assert ran.code == 2
    assert "truncated" in ran.err
    compiled = {"compilation": document["compilation"]}
    file = written(tmp_path / "c.json", compiled)
    ran = offline("profile", "diff", good, file, "--fail-if", "cycles>+1%")
    assert ran.code == 2
    assert "nothing ran" in ran.err
    assert offline("profile", "diff", good, file).code == 0


def test_the_page_has_both_directions_of_host_copies(document: dict[str, Any]) -> None:
    from ipulse.cli.display.profile_page import tile_lines

    before = list(tile_lines(Report(document)))  # a profile without their bytes
    first, second, third = document["execution"]["totals"]
    first.update(bytesFromHost=2048, bytesToHost=0)
    second.update(bytesFromHost=0, bytesToHost=1024)
    third.update(bytesFromHost=0, bytesToHost=1024)
    lines = list(tile_lines(Report(document)))
    assert lines[: len(before)] == before
    to_device, to_host = lines[-2:]
    assert to_device.split()[:2] == ["to", "device"]
    assert ("130 cycles" in to_device, "2 times" in to_device) == (True, True)
    assert to_host.split()[:2] == ["to", "host"]
    assert ("260 cycles" in to_host, "4 times" in to_host) == (True, True)
    assert to_device.endswith("2.0 KiB")
    assert to_host.endswith("2.0 KiB")


def test_the_page_names_the_fullest_tile(document: dict[str, Any]) -> None:
    from ipulse.cli.display.profile_page import tile_lines

    lines = list(tile_lines(Report(document)))
    fullest = next(line for line in lines if line.startswith("  tile "))
    assert fullest.split()[1] == "0"
    assert "60.0 %" in fullest


def test_only_emulated_cycles_have_a_band(document: dict[str, Any]) -> None:
    from ipulse.cli.display.profile_page import tile_lines

    def bands() -> list[str]:
        return [line for line in tile_lines(Report(document)) if "expected on an IPU" in line]

    document["emulated"] = True
    assert len(bands()) == 1
    document["emulated"] = False
    assert bands() == []
