"""How the op comes to be built with a Poplar SDK, on a stand-in for its tools."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ipulse_core.build_cache.toolchain import BuildFailed
from ipulse_ops.lif.poplar import sdk
from ipulse_ops.lif.poplar.sources import LIBRARIES, SOURCES

POPC = """#!/bin/sh
echo "POPLAR version {version} (1b114eb5e1)"
"""
# Where the sources are, and for which level.
MAKE = """#!/bin/sh
cd "$2" && ls builders/lif_op.cc codelets/step.cpp >/dev/null || exit 2
{fails}
echo "$3" > libipulse_lif.so; touch ipulse_lif.gp; echo built >> {count}
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for the SDK's programs, on the PATH, and a cache of its own."""
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("IPULSE_CACHE", str(tmp_path / "cache"))
    return tools


def put(tools: Path, version: str, fails: str = "") -> Path:
    """Programs of that version; the file has a line for every build."""
    count = tools / "builds"
    words = {"popc": POPC.format(version=version), "make": MAKE.format(fails=fails, count=count)}
    for name, text in words.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    return count


@pytest.mark.parametrize(
    ("version", "level"), [("2.2.0", 4), ("2.3.0", 5), ("2.6.0", 5), ("3.3.0", 5)]
)
def test_it_is_built_once_for_the_level_of_the_sdk(tools: Path, version: str, level: int) -> None:
    count = put(tools, version)
    for _ in range(2):
        built = sdk.built_op()
        assert built.library.read_text() == f"LEVEL={level}\n"
        assert built.codelets.exists()
    assert count.read_text() == "built\n"


def test_the_makefile_links_what_the_emulator_s_build_needs() -> None:
    """There, a symbol of a library that is not named is an error (-z defs)."""
    command = ["make", "-n", "-B", "-C", str(SOURCES), "LEVEL=5"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    library, codelets = (line for line in printed.splitlines() if " -o " in line)
    assert re.findall(r" -l(\w+)", library) == list(LIBRARIES)
    assert "ipu21" in codelets


def test_another_sdk_builds_another(tools: Path) -> None:
    put(tools, "2.6.0")
    one = sdk.built_op()
    put(tools, "3.3.0")
    assert sdk.built_op() != one


def test_the_command_of_the_emulator_s_package_is_no_sdk(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tools.parent / "scripts"
    scripts.mkdir()
    (scripts / "popc").write_text(
        "#!/usr/bin/python3\nfrom poplar_emulator.commands import popc\npopc()\n"
    )
    (scripts / "popc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{scripts}:{tools}")
    with pytest.raises(sdk.MissingSDK, match="popc is not on the PATH"):
        sdk.built_op()
    put(tools, "3.3.0")
    assert sdk.find_popc() == str(tools / "popc")


def test_output_of_the_tools_is_reported(tools: Path) -> None:
    put(tools, "2.6.0", fails="echo 'no such vertex'; exit 1")
    with pytest.raises(BuildFailed, match="no such vertex"):
        sdk.built_op()


def test_a_directory_without_the_op_is_named(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sdk.VARIABLE, str(tmp_path))
    with pytest.raises(sdk.MissingSDK, match=r"has no libipulse_lif\.so and no ipulse_lif\.gp"):
        sdk.built_op()
