"""The table of a paper from a comparison: a row for the jobs that differ in the seed only."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ipulse_core.energy import HOROWITZ
from ipulse_core.numbers import plain_number
from ipulse_core.statistics import Sample, against_best

LEVEL = 0.05  # below which a difference is called one


@dataclass(frozen=True)
class Column:
    """A metric of the table: its head, the factor of its values, and its decimals."""

    metric: str
    head: str
    factor: float = 1.0
    decimals: int = 2


COSTS = (
    Column("parameters", "parameters (M)", 1e-6, 3),
    Column("synops", "SynOps (M)", 1e-6, 3),
    Column("activation_sparsity", "sparsity (%)", 100, 1),
    Column("energy_nj", "energy (µJ)", 1e-3, 3),
)
SETTINGS = ("data.steps", "device.kind")
_NONE = {"n": 0}  # of a metric that no job has
ENERGY = f"Energy: estimated, not measured; {HOROWITZ['table']}, {HOROWITZ['assumption']}."


@dataclass(frozen=True)
class PaperTable:
    """A table with its notes. `best` has the rows of the best value and those not different."""

    heads: list[str]
    rows: list[list[str]]
    best: list[bool]
    column: int  # of the main metric
    notes: list[str]
    values: tuple[list[str], list[list[Any]]]  # heads and rows with all digits

    def markdown(self) -> str:
        """Return the table in Markdown, with the best values in bold."""
        lines = [_piped(self.heads), _piped(["---"] * len(self.heads))]
        for row, is_best in zip(self.rows, self.best, strict=True):
            cells = [cell.replace("|", "\\|") for cell in row]
            if is_best:
                cells[self.column] = f"**{cells[self.column]}**"
            lines.append(_piped(cells))
        return "\n".join([*lines, "", *self.notes])

    def latex(self) -> str:
        """Return a tabular of booktabs, with the best values in bold."""
        lines = ["% \\usepackage{booktabs}"]
        lines.append(f"\\begin{{tabular}}{{l{'r' * (len(self.heads) - 1)}}}")
        lines += ["\\toprule", _row(map(_escaped, self.heads)), "\\midrule"]
        for row, is_best in zip(self.rows, self.best, strict=True):
            cells = [_escaped(cell) for cell in row]
            number = cells[self.column].replace("±", "\\pm")
            bold = f"\\mathbf{{{number}}}" if is_best else number
            cells[self.column] = f"${bold}$" if row[self.column] else ""
            lines.append(_row(cells))
        lines += ["\\bottomrule", "\\end{tabular}"]
        return "\n".join([*lines, *(f"% {note}" for note in self.notes)])

    def csv(self) -> str:
        """Return the values with all their digits as CSV."""
        output = io.StringIO()
        heads, rows = self.values
        csv.writer(output, lineterminator="\n").writerows([heads, *rows])
        return output.getvalue().rstrip("\n")


def paper_table(result: Mapping[str, Any], main: Column, is_less_better: bool) -> PaperTable:
    """Return the table of a comparison (POST /v1/jobs:compare) that has the metrics of COSTS."""
    groups, names = result["groups"], result["group_by"]
    labels = {column["name"]: column["label"] for column in result["settings"]}
    jobs = {job["id"]: job for job in result["jobs"]}
    samples = [_sample(group["metrics"][main.metric]) for group in groups]
    tested = against_best(samples, is_less_better)
    costs = [c for c in COSTS if any(g["metrics"].get(c.metric, _NONE)["n"] for g in groups)]
    titles = [labels.get(name, name) for name in names] or ["jobs"]
    heads = [*titles, main.head, "n", "T", *(cost.head for cost in costs), "device"]
    rows, values = [], []
    for at, group in enumerate(groups):
        keys = [_text(group["values"][name]) for name in names] or ["all"]
        steps, device = (_common(jobs, group["jobs"], name) for name in SETTINGS)
        means = [group["metrics"][cost.metric]["mean"] for cost in costs]
        shown = [_number(mean, cost) for mean, cost in zip(means, costs, strict=True)]
        found = group["metrics"][main.metric]
        rows.append([*keys, _interval(found, main), str(found["n"]), steps, *shown, device])
        figures = [found[name] for name in ("mean", "sd", "interval", "n")]
        values.append([*keys, *figures, tested.p[at], tested.corrected[at], steps, *means, device])
    each = [f"{main.metric} {name}" for name in ("mean", "sd", "interval", "n")]
    tests = ["p (Welch, against the best)", "p (Holm)"]
    whole = [*titles, *each, *tests, "steps", *(cost.metric for cost in costs), "device"]
    best = [at == tested.best or _is_alike(p) for at, p in enumerate(tested.corrected)]
    return PaperTable(heads, rows, best, len(titles), _notes(costs, main), (whole, values))


def _notes(costs: Sequence[Column], main: Column) -> list[str]:
    notes = [
        f"{main.head}: mean ± half of its 95 % interval over n seeds (Student's t). Bold: "
        f"the best, and those that do not differ from it (Welch's t-test, Holm's correction, "
        f"p >= {LEVEL}); a single seed is not tested."
    ]
    return [*notes, ENERGY] if any(cost.metric == "energy_nj" for cost in costs) else notes


def _sample(found: Mapping[str, Any]) -> Sample | None:
    return Sample(found["mean"], found["sd"], found["n"]) if found["n"] else None


def _is_alike(p: float | None) -> bool:
    return p is not None and p >= LEVEL


def _interval(found: Mapping[str, Any], column: Column) -> str:
    if not found["n"]:
        return ""
    mean = _number(found["mean"], column)
    return mean if found["interval"] is None else f"{mean} ± {_number(found['interval'], column)}"


def _number(value: float | None, column: Column) -> str:
    return "" if value is None else f"{value * column.factor:.{column.decimals}f}"


def _common(jobs: Mapping[str, Any], ids: Sequence[str], name: str) -> str:
    """Return the value of a setting of all jobs of a group; empty if they differ."""
    found = {_text(jobs[i]["settings"].get(name)) for i in ids if i in jobs}
    return found.pop() if len(found) == 1 else ""


def _text(value: Any) -> str:
    if isinstance(value, float):
        return plain_number(value)
    return "" if value is None else str(value)


def _piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(cells: Any) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    for sign in "\\&%$#_{}":
        text = text.replace(sign, "\\textbackslash " if sign == "\\" else f"\\{sign}")
    return text.replace("µ", "$\\mu$")
