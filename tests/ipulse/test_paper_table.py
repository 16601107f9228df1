"""The table of a paper, and the tests of differences in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ipulse.paper_table import COSTS, Column, paper_table
from ipulse_core.statistics import Sample, holm, welch

MAIN = Column("test_accuracy", "test accuracy (%)", 100, 1)


def comparison(*groups: tuple[float, list[float]]) -> dict[str, Any]:
    """A comparison as the service returns it, of a learning rate and accuracies over seeds."""
    jobs, found = [], []
    for rate, values in groups:
        mean = sum(values) / len(values) if values else None
        sd = None
        if len(values) > 1 and mean is not None:
            sd = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
        ids = [f"job_{rate}_{at}" for at in range(max(len(values), 1))]
        jobs += [{"id": i, "settings": {"data.steps": 40, "device.kind": "cpu"}} for i in ids]
        metrics = {cost.metric: figures(1500.0, None, 1) for cost in COSTS}
        metrics["test_accuracy"] = figures(mean, sd, len(values))
        found.append({"values": {"rate_%": rate}, "jobs": ids, "metrics": metrics})
    return {"jobs": jobs, "groups": found, "group_by": ["rate_%"], "settings": []}


def figures(mean: float | None, sd: float | None, n: int) -> dict[str, Any]:
    return {"mean": mean, "sd": sd, "interval": sd, "n": n}


def test_welch_and_holm_are_those_of_a_statistics_package() -> None:
    # scipy.stats.ttest_ind_from_stats(20.1, 2.0, 5, 22.9, 1.5, 6, equal_var=False)
    assert welch(Sample(20.1, 2.0, 5), Sample(22.9, 1.5, 6)) == pytest.approx(0.0348743438442484)
    assert welch(Sample(1.0, 0.0, 3), Sample(1.0, 0.0, 3)) == 1
    assert welch(Sample(1.0, 0.0, 3), Sample(2.0, 0.0, 3)) == 0
    assert welch(Sample(1.0, None, 1), Sample(2.0, 0.1, 3)) is None
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_bold_are_the_best_and_those_that_do_not_differ() -> None:
    good, alike, worse = [0.97, 0.98, 0.99], [0.965, 0.975, 0.985], [0.5, 0.51, 0.52]
    table = paper_table(comparison((1, good), (2, alike), (3, worse), (4, [])), MAIN, False)
    assert table.best == [True, True, False, False]
    first, *_ = table.markdown().splitlines()[2:]
    assert "| 1 | **98.0 ± 1.0** | 3 | 40 |" in first
    assert paper_table(comparison((1, good), (3, worse)), MAIN, True).best == [False, True]


def test_latex_has_bold_numbers_and_escaped_names() -> None:
    text = paper_table(comparison((1, [0.97, 0.98, 0.99])), MAIN, False).latex()
    assert "% \\usepackage{booktabs}" in text
    assert "rate\\_\\%" in text
    assert "$\\mathbf{98.0 \\pm 1.0}$" in text
    assert "energy ($\\mu$J)" in text
    assert "|" not in text.split("\\toprule")[1]


def test_csv_has_all_digits_and_both_p_values() -> None:
    table = paper_table(comparison((1, [0.97, 0.98]), (2, [1 / 3, 0.3])), MAIN, False)
    heads, _, second = [line.split(",") for line in table.csv().splitlines()]
    row = dict(zip([head.strip('"') for head in heads], second, strict=False))
    assert json.loads(row["test_accuracy mean"]) == (1 / 3 + 0.3) / 2
    assert "p (Holm)" in table.csv()
