"""Result tables are small, name their origin, and are read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.common import machine, tables

ROOT = Path(__file__).resolve().parents[2]


class TestTables:
    def test_a_table_is_read_back_with_its_origin(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        tables.write_table(path, [{"a": 1.23456, "b": "x, y"}, {"a": 2, "c": 3}], "make it")
        comments, rows = tables.read_table(path)
        assert rows == [{"a": "1.235", "b": "x, y", "c": ""}, {"a": "2", "b": "", "c": "3"}]
        assert comments["command"] == "make it"
        assert comments["machine"] == machine.summary_line()
        assert comments["commit"]

    def test_markdown_aligns_figures_to_the_right(self) -> None:
        assert tables.markdown(["a", "b"], [["x", 1]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"

    @pytest.mark.parametrize(
        "path", sorted(ROOT.glob("benchmarks/*/results/*")), ids=lambda path: path.name
    )
    def test_a_stored_table_is_small_and_names_its_origin(self, path: Path) -> None:
        comments, rows = tables.read_table(path)
        assert {"command", "commit", "date", "machine"} <= set(comments)
        assert 0 < len(rows) < 200
        assert all(None not in row and None not in row.values() for row in rows)

    def test_stored_results_and_pictures_stay_small(self) -> None:
        stored = list(ROOT.glob("benchmarks/*/results/*"))
        assert sum(len(path.read_bytes().splitlines()) for path in stored) < 1000
        for picture in ROOT.glob("docs/images/*.svg"):
            assert picture.stat().st_size < 100_000, picture.name
