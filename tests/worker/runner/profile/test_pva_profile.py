"""Reports of Poplar read with a stand-in for `pva` that has the documented attributes alone."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Dict, Optional, Sequence

import pytest

from ipulse_core import strict_json
from ipulse_worker.runner.profile import pva_profile
from ipulse_worker.runner.profile.pva_profile import most_expensive, read
from ipulse_worker.runner.profile.tile_profile import TileProfile
from ipulse_worker.runner.profile.tile_records import Cycles

TILES = 3


class Type(Enum):
    """The types of programs in pva's enumeration."""

    Sequence = 0
    Repeat = 1
    OnTileExecute = 2
    DoExchange = 3
    StreamCopyMid = 4
    Sync = 5


def of(**attributes: Any) -> SimpleNamespace:
    return SimpleNamespace(**attributes)


class Report:
    """A program of one loop: compute, exchange, sync; and a copy from the host before it."""

    def __init__(self, has_execution: bool = True, passes: int = 3) -> None:
        sets = [of(name="ipulse_lif/readout/integrate", vertices=[self.vertex(t) for t in (0, 1)])]
        body = [
            self.program(2, "stage", Type.OnTileExecute, computeset=sets[0]),
            self.program(3, "spread", Type.DoExchange),
            self.program(4, "", Type.Sync),
        ]
        loop = self.program(1, "", Type.Repeat, body)
        copy = self.program(5, "batch", Type.StreamCopyMid)
        main = self.program(0, "main", Type.Sequence, [copy, loop])
        self.compilation = of(
            target=of(
                type=of(name="Ipu"),
                numIPUs=1,
                tilesPerIpu=TILES,
                numTiles=TILES,
                bytesPerTile=638_976,
                clockFrequency=1.33e9,
            ),
            graph=of(numComputeSets=1),
            tiles=[of(memory=self.memory(100 * (tile + 1))) for tile in range(TILES)],
            computeSets=sets,
            programs=[main, loop, *body, copy],
            alwaysLiveVariables=[of(name="weights", size=40), of(name="state", size=80)],
            livenessProgramSteps=[
                of(
                    program=program,
                    notAlwaysLiveMemory=of(
                        bytes=10 * program._id, variables=[of(name="v", size=10 * program._id)]
                    ),
                )
                for program in body
            ],
        )
        steps = [self.step(copy, 500)]
        for _ in range(passes):
            steps += [self.step(p, c) for p, c in zip(body, (1000, 200, 50))]
        self._has_execution = has_execution
        self._execution = of(
            runs=[of(name="run 0", microseconds=of(start=0, end=7), steps=steps)],
            totalCycles=of(total=500 + 1250 * passes),
        )

    @property
    def execution(self) -> Any:
        if not self._has_execution:
            raise RuntimeError("there is no execution profile in the report")
        return self._execution

    def program(
        self, number: int, name: str, kind: Type, children: Sequence[Any] = (), **more: Any
    ) -> Any:
        return of(_id=number, name=name, type=kind, children=list(children), **more)

    def vertex(self, tile: int) -> Any:
        return of(tile=tile, type=of(name="Integrate", size=96))

    def memory(self, held: int) -> Any:
        gaps = of(includingGaps=2 * held, excludingGaps=2 * held)
        nothing = of(includingGaps=0, excludingGaps=0)
        category = of(variable=of(total=held), copyDescriptor=of(total=held))
        return of(
            total=gaps,
            overflowed=nothing,
            alwaysLiveBytes=held,
            notAlwaysLiveBytes=held,
            category=category,
        )

    def step(self, program: Any, cycles: int) -> Any:
        span = of(min=0, max=cycles)
        ipu = of(
            cycles=cycles,
            tileBalance=0.5,
            activeTileBalance=0.75,
            activeCycles=of(cyclesFrom=of(min=0, max=0), cyclesTo=span),
        )
        return of(program=program, ipus=[ipu], cyclesByTile=[cycles, cycles // 2, 0])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Dict[str, Report]:
    """Reports by the path of their file; what opens them is `pva.openReport`."""
    reports: Dict[str, Report] = {}

    def open_report(profile: str, debug: Optional[str] = None) -> Report:
        assert debug is None or debug.endswith("debug.cbor")
        return reports[profile]

    module: Any = ModuleType("pva")
    module.openReport = open_report
    monkeypatch.setitem(sys.modules, "pva", module)
    return reports


@pytest.mark.old_python
def test_an_ipu_gives_the_values_of_the_emulator(opened: Dict[str, Report]) -> None:
    opened["profile.pop"] = Report()
    document = read(Path("profile.pop"))
    assert strict_json.loads(strict_json.dumps(document)) == document  # it is plain JSON
    assert document["emulated"] is False
    assert document["compilation"]["computeSets"][0]["vertices"] == [
        {"type": {"name": "Integrate", "size": 96}, "count": 2}
    ]
    profile = TileProfile(document, layers=1)
    assert profile.total == Cycles(compute=3000, exchange=600, sync=150, host=500)
    assert profile.compute_by_tile.tolist() == [3000, 1500, 0]
    assert profile.balance == pytest.approx(0.5)
    assert profile.layers[0].forward.compute == 3000
    assert profile.bytes_by_tile.tolist() == [200, 400, 600]
    assert profile.categories["stacks and others"].tolist() == [100, 200, 300]
    (run,) = profile.runs
    assert profile.one_iteration(run) == (1, 4)
    assert profile.liveness[-1] == ("Sync", 40)


def test_without_an_execution_there_are_no_cycles(opened: Dict[str, Report]) -> None:
    opened["profile.pop"] = Report(has_execution=False)
    document = read(Path("profile.pop"))
    assert "execution" not in document
    assert not TileProfile(document, layers=1).has_run


def test_a_long_run_is_cut_and_its_sums_are_not(
    opened: Dict[str, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pva_profile, "MOST_STEPS", 4)
    monkeypatch.setattr(pva_profile, "MOST_LIVENESS_STEPS", 2)
    opened["profile.pop"] = Report(passes=10)
    document = read(Path("profile.pop"))
    (run,) = document["execution"]["runs"]
    assert (len(run["steps"]), run["truncated"]) == (4, True)
    assert TileProfile(document, layers=1).total.compute == 10_000
    live = document["compilation"]["livenessProgramSteps"]
    assert [step["notAlwaysLiveMemory"]["bytes"] for step in live] == [30, 40]


def test_of_several_programs_it_is_the_one_with_most_cycles(
    opened: Dict[str, Report], tmp_path: Path
) -> None:
    assert most_expensive(tmp_path) is None
    for name, passes in (("tf_report_a", 1), ("tf_report_b", 5), ("tf_report_c", 2)):
        profile = tmp_path / name / "profile.pop"
        profile.parent.mkdir()
        profile.touch()
        opened[str(profile)] = Report(passes=passes)
    (tmp_path / "debug.cbor").touch()
    document = most_expensive(tmp_path)
    assert document is not None
    assert document["execution"]["totalCycles"]["total"] == 500 + 1250 * 5
