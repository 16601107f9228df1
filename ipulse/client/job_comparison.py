"""Jobs side by side, as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ipulse.optional_modules import optional_module
from ipulse_core.errors import NotFound

from .blocking.job import JobHandle

if TYPE_CHECKING:
    from ipulse.spec.flat import Setting

_ABSENT = "(none)"
_NAME = "name"  # of the experiment: for people, no setting of the training


def compare(jobs: Iterable[JobHandle]) -> JobComparison:
    """Return a comparison of jobs: their settings, curves and final metrics."""
    return JobComparison(list(jobs))


class JobComparison:
    """Jobs that are compared."""

    def __init__(self, jobs: Sequence[JobHandle]) -> None:
        self.jobs = list(dict.fromkeys(jobs))
        self._settings: dict[str, dict[str, Setting]] | None = None

    def config(self) -> Any:
        """Return the settings that differ, one row per job."""
        pandas = _pandas()
        names = self._differing()
        rows = [{name: self._setting(job, name) for name in names} for job in self.jobs]
        return pandas.DataFrame(rows, index=self._ids(), columns=names)

    def curves(self, metric: str, group_by: str | None = None) -> Any:
        """Return a metric by epoch, one column per job, or the mean per value of a setting.

        Args:
            metric: Such as test_accuracy.
            group_by: A setting, by its path or the end of it.
        """
        pandas = _pandas()
        columns = {}
        for job in self.jobs:
            values = job.metrics(metric, as_="columns")
            columns[job.id] = pandas.Series(values[metric], index=values["epoch"])
        frame = pandas.DataFrame(columns).rename_axis("epoch")
        if group_by is None:
            return frame
        name = self._named(group_by)
        keys = [self._setting(job, name) for job in self.jobs]
        return frame.T.groupby(keys, sort=True).mean().T.rename_axis(columns=name)

    def summary(self, over: str = "seed", metric: str = "test_accuracy") -> Any:
        """Return a final metric per group of jobs that differ in one setting only.

        Args:
            over: The setting in which the jobs of a group differ, such as the seed.
            metric: Such as test_accuracy.

        Returns:
            A DataFrame with n (jobs with the metric), of (all jobs of the group), mean, sd, min
            and max; the index are the other settings that differ.
        """
        pandas = _pandas()
        over = self._named(over)
        names = [name for name in self._differing() if name != over]
        rows = [
            {
                **{name: self._setting(job, name) for name in names},
                metric: job.summary.get(metric),
            }
            for job in self.jobs
        ]
        frame = pandas.DataFrame(rows, columns=[*names, metric])
        frame[metric] = frame[metric].astype(float)
        keys: Any = names or (lambda _: "all")
        groups = frame.groupby(keys, dropna=False)[metric]
        return groups.agg(n="count", of="size", mean="mean", sd="std", min="min", max="max")

    def _repr_html_(self) -> str:
        html: str = self.config()._repr_html_()
        return html

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.jobs)} jobs>"

    def _ids(self) -> list[str]:
        return [job.id for job in self.jobs]

    def _read(self) -> dict[str, dict[str, Setting]]:
        if self._settings is None:
            from ipulse.spec.flat import flat_settings

            self._settings = {job.id: flat_settings(job.spec) for job in self.jobs}
        return self._settings

    def _setting(self, job: JobHandle, name: str) -> Setting:
        return self._read()[job.id].get(name, _ABSENT)

    def _differing(self) -> list[str]:
        tables = list(self._read().values())
        names = dict.fromkeys(name for table in tables for name in table if name != _NAME)
        return [name for name in names if len({repr(table.get(name)) for table in tables}) > 1]

    def _named(self, end: str) -> str:
        """Return the path of the setting with this name, or with this end."""
        names = {name for table in self._read().values() for name in table}
        found = [end] if end in names else [name for name in names if name.endswith(f".{end}")]
        if len(found) != 1:
            listed = ", ".join(sorted(found)[:5] or self._differing()[:10])
            what = "several settings end so" if found else "no setting has this name"
            raise NotFound(f"{end[:100]!r}: {what}: {listed}")
        return found[0]


def _pandas() -> Any:
    return optional_module("pandas", "a comparison")
