from __future__ import annotations

from pathlib import Path

import pytest

from ipulse_worker.runner.work_dir import WorkDir

pytestmark = pytest.mark.old_python


class TestWorkDir:
    def test_replaces_a_file_as_a_whole(self, tmp_path: Path) -> None:
        work_dir = WorkDir(tmp_path)
        work_dir.write("a.json", b"old")
        with (tmp_path / "a.json").open("rb") as reader:
            assert work_dir.write("a.json", b"new!").read_bytes() == b"new!"
            assert (
                reader.read() == b"old"
            )  # a reader that opened it before still has the whole file
        assert [path.name for path in tmp_path.iterdir()] == ["a.json"]

    def test_leaves_the_old_file_where_writing_fails(self, tmp_path: Path) -> None:
        work_dir = WorkDir(tmp_path)
        work_dir.write("a.json", b"old")

        def fail() -> None:
            with work_dir.writing("a.json") as path:
                path.write_bytes(b"ha")
                assert (tmp_path / "a.json").read_bytes() == b"old"
                raise RuntimeError("disk on fire")

        with pytest.raises(RuntimeError, match="disk on fire"):
            fail()
        assert (tmp_path / "a.json").read_bytes() == b"old"
        assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
