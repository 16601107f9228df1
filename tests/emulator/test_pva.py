"""Reading a profile with the names of Graphcore's PopVision Analysis Library."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest

from poplar_emulator import pva

from .compiled import compile_program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "poplar"


@pytest.fixture(scope="module")
def path(environment: Dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of the example with a loop, a reduction and two kinds of vertices."""
    folder = tmp_path_factory.mktemp("report")
    options = {"autoReport.directory": str(folder), "autoReport.all": "true"}
    program = compile_program(EXAMPLES / "leaky_neurons.cpp")
    environment = {**environment, "POPLAR_ENGINE_OPTIONS": json.dumps(options)}
    subprocess.run([str(program)], cwd=EXAMPLES, env=environment, check=True)
    return folder / "profile.json"


@pytest.fixture
def report(path: Path) -> pva.Report:
    opened: pva.Report = pva.openReport(str(path))
    return opened


class TestCompilation:
    def test_the_target_is_the_program_s(self, report: pva.Report) -> None:
        target = report.compilation.target
        assert (target.numIPUs, target.tilesPerIpu, target.numReplicas) == (1, 1472, 1)
        assert target.totalMemory == target.numTiles * target.bytesPerTile
        assert target.type.name == "Ipu"

    def test_categories_add_up_to_the_memory_of_a_tile(self, report: pva.Report) -> None:
        tiles = report.compilation.tiles
        assert len(tiles) == report.compilation.target.numTiles
        for tile in tiles:
            memory = tile.memory
            assert memory.total.excludingGaps == sum(part.total for _, part in memory.category)
            assert memory.total.excludingGaps == memory.alwaysLiveBytes + memory.notAlwaysLiveBytes
        assert tiles[0].memory.category.vertexCode.total > 0

    def test_vertices_are_listed_one_by_one(self, report: pva.Report) -> None:
        sets = report.compilation.computeSets
        assert len(sets) == report.compilation.graph.numComputeSets
        assert [len(each.vertices) for each in sets] == [each.numVertices for each in sets]
        assert all(vertex.type.name for each in sets for vertex in each.vertices)

    def test_variables_of_the_fullest_step_fit_into_its_live_memory(
        self, report: pva.Report
    ) -> None:
        steps = report.compilation.livenessProgramSteps
        peak = max(steps, key=lambda step: step.notAlwaysLiveMemory.bytes)
        assert peak.program.name
        assert peak.notAlwaysLiveMemory.variables
        assert all(
            v.size <= peak.notAlwaysLiveMemory.bytes for v in peak.notAlwaysLiveMemory.variables
        )


@pytest.mark.old_python
class TestPrograms:
    def test_a_visitor_is_called_by_type(self, report: pva.Report) -> None:
        names: List[str] = []

        class OnTile(pva.ProgramVisitor):
            def visitOnTileExecute(self, program: Any) -> None:
                names.append(program.computeset.name)

        for program in report.compilation.programs:
            program.accept(OnTile())
        of_type = [
            program.computeset.name
            for program in report.compilation.programs
            if program.type == pva.Program.Type.OnTileExecute
        ]
        assert names == of_type != []

    def test_a_misspelt_function_of_a_visitor_is_an_error(self) -> None:
        with pytest.raises(AttributeError, match="visitOnTile"):
            _ = pva.ProgramVisitor().visitOnTile


class TestExecution:
    def test_cycles_of_the_steps_are_those_of_the_device(self, report: pva.Report) -> None:
        execution = report.execution
        assert [run.truncated for run in execution.runs] == [False]
        assert sum(step.cycles for step in execution.totals) == execution.totalCycles.total
        assert sum(step.ipus[0].cycles for step in execution.steps) == execution.totalCycles.total
        assert len(execution.computeCyclesByTile) == report.compilation.target.numTiles

    def test_a_repeated_step_ran_as_often_as_its_loop(self, report: pva.Report) -> None:
        loops = [p for p in report.compilation.programs if p.type is pva.Program.Type.Repeat]
        assert [loop.count for loop in loops] == [10]
        (body,) = loops[0].children
        steps = {step._id for step in body.children}
        executions = {t.program._id: t.executions for t in report.execution.totals}
        assert {executions[step] for step in steps if step in executions} == {10}


class TestMissingParts:
    def test_a_report_of_one_part_names_the_other(self, path: Path, tmp_path: Path) -> None:
        document = json.loads(path.read_text())
        compiled = pva.Report({"compilation": document["compilation"]})
        with pytest.raises(AttributeError, match="nothing ran"):
            _ = compiled.execution
        ran = pva.Report({"execution": document["execution"]})
        assert ran.execution.totalCycles.total > 0
        with pytest.raises(AttributeError, match="no compilation"):
            _ = ran.execution.steps[0].program

    def test_an_attribute_that_libpva_has_and_the_profile_lacks(self, report: pva.Report) -> None:
        target = report.compilation.target
        del target._data["interleavedMemoryStart"]
        with pytest.raises(AttributeError, match=r"target\.interleavedMemoryStart"):
            _ = target.interleavedMemoryStart


@pytest.mark.old_python
class TestBadFiles:
    @pytest.mark.parametrize(
        ("text", "where"),
        [
            ("{}", "no compilation"),
            ('{"compilation": []}', "/compilation"),
            ('{"compilation": {"tiles": {}}}', "/compilation/tiles"),
            ('{"schema": "ipulse.profile/1"}', "poplar_profile.json"),
            ("[1]", "pva"),
            ("\x00\x01CapnProto", "pva"),
        ],
    )
    def test_foreign_files_are_named(self, text: str, where: str, tmp_path: Path) -> None:
        path = tmp_path / "profile.json"
        path.write_text(text)
        with pytest.raises(pva.InvalidReport, match=where):
            pva.open_report(path)

    def test_a_truncated_file_is_named(self, path: Path, tmp_path: Path) -> None:
        cut = tmp_path / "cut.json"
        cut.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(pva.InvalidReport, match="truncated"):
            pva.open_report(cut)
        with pytest.raises(FileNotFoundError):
            pva.open_report(tmp_path / "gone.json")
