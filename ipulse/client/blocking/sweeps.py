"""The methods of the synchronous client about sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ipulse.client.client_base import ClientBase
from ipulse.client.sweeps.resources import SweepStatus, SweepTrial
from ipulse.client.transport.transports import finished
from ipulse.sweeps import SweepConfig


class BlockingSweeps:
    """Creates, follows and changes sweeps."""

    _calls: ClientBase

    def create_sweep(
        self, definition: SweepConfig | Mapping[str, Any], idempotency_key: str | None = None
    ) -> SweepStatus:
        """Create a sweep from its definition; its trials begin at once.

        Without an idempotency key a new one is made, so that a retry never creates a second sweep.
        Raises InvalidSweep.
        """
        return finished(self._calls.create_sweep(definition, idempotency_key))

    def sweep(self, sweep_id: str) -> SweepStatus:
        """Return the sweep in its current state. Raises NotFound."""
        return finished(self._calls.sweep(sweep_id))

    def sweeps(self, limit: int = 100) -> list[SweepStatus]:
        """Return the latest sweeps, newest first."""
        return finished(self._calls.sweeps(limit))

    def sweep_trials(self, sweep_id: str) -> list[SweepTrial]:
        """Return all trials of a sweep that have begun, in order. Raises NotFound."""
        return finished(self._calls.sweep_trials(sweep_id))

    def pause_sweep(self, sweep_id: str) -> SweepStatus:
        """Begin no more trials for now. Raises Conflict for a sweep that stops, NotFound."""
        return finished(self._calls.pause_sweep(sweep_id))

    def resume_sweep(self, sweep_id: str) -> SweepStatus:
        """Let a paused sweep begin trials again. Raises Conflict, NotFound."""
        return finished(self._calls.resume_sweep(sweep_id))

    def stop_sweep(self, sweep_id: str, running: str = "keep") -> SweepStatus:
        """Begin no more trials and cancel queued jobs. Raises NotFound.

        `running` says what happens to jobs that run: keep, finish (now, with their results) or
        cancel.
        """
        return finished(self._calls.stop_sweep(sweep_id, running))

    def change_sweep(
        self,
        sweep_id: str,
        trials: int | None = None,
        parallel: int | None = None,
        *,
        values: Mapping[str, Sequence[Any]] | None = None,
        seeds: Sequence[int] = (),
        limits: Mapping[str, Any] | None = None,
    ) -> SweepStatus:
        """Extend a sweep; one that has ended continues. Raises InvalidInput, Conflict, NotFound.

        Args:
            sweep_id: id of the sweep.
            trials: number of trials in all.
            parallel: trials at the same time.
            values: more values of settings that a grid varies, by JSON pointer.
            seeds: more seeds of each trial; those that failed get them when they are retried, and
                those that were stopped early get none.
            limits: all limits from now on: run_seconds (from the continuation), device_hours,
                target.
        """
        changed = self._calls.change_sweep(
            sweep_id, trials, parallel, values=values, seeds=seeds, limits=limits
        )
        return finished(changed)

    def retry_sweep(
        self,
        sweep_id: str,
        *,
        failed: bool = False,
        deleted: bool = False,
        trials: Sequence[int] = (),
    ) -> SweepStatus:
        """Repeat jobs of a sweep under the numbers of their trials; by default those that failed.

        failed: jobs that failed; they are retried under their ids.
        deleted: jobs that were deleted; other jobs take their places.
        trials: numbers of trials, of which all jobs that failed, were cancelled or were deleted.

        Raises Conflict if there is nothing to repeat or the sweep stops, InvalidInput, NotFound.
        """
        again = self._calls.retry_sweep(sweep_id, failed=failed, deleted=deleted, trials=trials)
        return finished(again)

    def delete_sweep(self, sweep_id: str) -> None:
        """Delete a sweep that has ended, with its trials; its jobs stay. Raises Conflict, NotFound.

        The jobs are found by the group that is the id of the sweep.
        """
        finished(self._calls.delete_sweep(sweep_id))
