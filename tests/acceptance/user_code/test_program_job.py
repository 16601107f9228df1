"""A user's program from the folder to the profile, through a real service, agent and sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ipulse.client import Connection
from ipulse.stack.stack import Stack
from ipulse_core.errors import InvalidInput, NotPermitted
from tests.acceptance.user_code.sandbox import sandbox_problem

ROOT = Path(__file__).parents[3]
SECONDS = 300.0

requires_bubblewrap = pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem())

# The path of a graph that copies one constant; ARGS are run before.
PROGRAM = """
#include <fstream>
#include <iostream>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
using namespace poplar;
int main(int count, char **arguments) {
  std::ofstream("result.txt") << "written by " << (count > 1 ? arguments[1] : "nobody");
  auto devices = DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1);
  devices.front().attach();
  Graph graph(devices.front().getTarget());
  graph.addCodelets("vertices.cpp");
  Tensor x = graph.addVariable(FLOAT, {4}, "x");
  graph.setTileMapping(x, 0);
  ComputeSet set = graph.addComputeSet("spin");
  auto vertex = graph.addVertex(set, "Spin", {{"x", x}});
  graph.setTileMapping(vertex, 0);
  Engine engine(graph, program::Execute(set));
  engine.load(devices.front());
  engine.run(0);
  std::cout << "ran" << std::endl;
  return count > 2 ? 7 : 0;
}
"""
VERTEX = """
#include <poplar/Vertex.hpp>
class Spin : public poplar::Vertex {
public:
  poplar::Output<poplar::Vector<float>> x;
  bool compute() { for (auto &v : x) v = 1; return true; }
};
"""


@pytest.fixture(scope="module")
def coder(stack: Stack) -> Iterator[Connection]:
    """A client with a token that may submit code."""
    with Connection(stack.url, token_file=stack.token_path) as owner:
        token = owner.create_token("coder", "user", 3600, submit_code=True)
    with Connection(stack.url, token.secret) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "program"
    made.mkdir()
    (made / "main.cpp").write_text(PROGRAM)
    (made / "vertices.cpp").write_text(VERTEX)
    return made


def spec(package: str, **changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "kind": "poplar_program",
        "package": package,
        "sources": ["main.cpp"],
        "device": {"ipus": 1},
        **changes,
    }


def test_a_token_without_the_right_is_refused(
    client: Connection, coder: Connection, folder: Path
) -> None:
    with pytest.raises(NotPermitted, match="submit-code"):
        client.push_program(folder)
    package = coder.push_program(folder)
    with pytest.raises(NotPermitted, match="submit-code"):
        client.submit(spec(package))
    with pytest.raises(InvalidInput):
        coder.submit(spec("sha256:" + "0" * 64))


@requires_bubblewrap
def test_a_program_runs_and_leaves_its_files(
    coder: Connection, folder: Path, tmp_path: Path
) -> None:
    job = coder.submit(spec(coder.push_program(folder), arguments=["somebody"]))
    ended = coder.job(job.id).wait(SECONDS, check=False)
    assert ended.state == "succeeded", ended.message
    names = {artifact.name: artifact.role for artifact in coder.job(job.id).artifacts()}
    assert names["result.txt"] == "output"
    assert "main.cpp" not in names  # as it was sent
    assert {"poplar_profile.json", "report.html", "manifest.json"} <= set(names)
    coder.job(job.id).download(tmp_path / "results")
    assert (tmp_path / "results" / "result.txt").read_text() == "written by somebody"
    lines = [event.fields["message"] for event in coder.job(job.id).events() if event.kind == "log"]
    assert "ran" in lines
    assert (ended.summary or {})["emulated_cycles"] > 0


FAILURES = {
    "compiler": ({"sources": ["broken.cpp"]}, "build_failed", "broken.cpp"),
    "missing": ({"sources": ["nothing.cpp"]}, "build_failed", "nothing.cpp"),
    "status": ({"arguments": ["somebody", "fails"]}, "program_failed", "exit status 7"),
    "time": ({"sources": ["endless.cpp"], "limits": {"seconds": 1}}, "limit_exceeded", "1 s"),
    "memory": (
        {"sources": ["greedy.cpp"], "limits": {"memory_mib": 64}},
        "out_of_memory",
        "64 MiB",
    ),
    "sanitize": ({"sanitize": True, "arguments": ["beyond"]}, "program_failed", "'Spin' on tile 0"),
    "secrets": ({"sources": ["curious.cpp"]}, "build_failed", "curious.cpp"),
}


@requires_bubblewrap
@pytest.mark.parametrize("name", ["compiler", *(n for n in FAILURES if n != "compiler")])
@pytest.mark.verify
def test_a_program_that_fails_says_why(
    stack: Stack, coder: Connection, folder: Path, name: str
) -> None:
    (folder / "broken.cpp").write_text("int main() { return nothing; }")
    (folder / "endless.cpp").write_text("int main() { for (;;) ; }")
    (folder / "greedy.cpp").write_text(
        "#include <cstdlib>\n#include <cstring>\n"
        "int main() { for (;;) std::memset(std::malloc(1 << 22), 1, 1 << 22); }"
    )
    if name == "sanitize":  # a read behind a field, which passes otherwise
        (folder / "vertices.cpp").write_text(VERTEX.replace("v = 1", "v = (&x[0])[4]"))
    token = stack.token_path
    (folder / "curious.cpp").write_text(f'#include "{token}"\nint main() {{}}')
    changes, reason, words = FAILURES[name]
    job = coder.submit(spec(coder.push_program(folder), **changes))
    ended = coder.job(job.id).wait(SECONDS, check=False)
    assert (ended.state, ended.reason) == ("failed", reason), ended.message
    assert words in ended.message
    log = "\n".join(
        event.fields["message"] for event in coder.job(job.id).events() if event.kind == "log"
    )
    assert token.read_text().strip() not in log
    if name == "status":  # what it left is stored all the same
        assert "result.txt" in {artifact.name for artifact in coder.job(job.id).artifacts()}
