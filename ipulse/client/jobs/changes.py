"""The calls of both clients that change jobs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from ipulse.client.transport.call_sender import CallSender

from . import calls
from .batches import BatchResult, JobSelection
from .resources import Job


class JobChanges(CallSender):
    """The calls that cancel, pause, retry, edit and delete jobs."""

    async def cancel(self, job_id: str) -> Job:
        """Cancel the job; a job that has ended does not change. Raises NotFound."""
        return await self._send(calls.change_state(job_id, "cancel"))

    async def finish(self, job_id: str) -> Job:
        """End the training after its present step and keep its results; see Client.finish."""
        return await self._send(calls.change_state(job_id, "finish"))

    async def continue_training(
        self, job_id: str, epochs: int, idempotency_key: str | None = None
    ) -> Job:
        """Train a job that has ended for more epochs; see Client.continue_training."""
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return await self._send(calls.continue_training(job_id, epochs, key))

    async def pause(self, job_id: str) -> Job:
        """Pause the job; a running job writes a checkpoint first. Raises Conflict, NotFound."""
        return await self._send(calls.change_state(job_id, "pause"))

    async def resume(self, job_id: str) -> Job:
        """Resume a paused job from its last checkpoint. Raises Conflict, NotFound."""
        return await self._send(calls.change_state(job_id, "resume"))

    async def retry(self, job_id: str) -> Job:
        """Queue a failed job again under its id; see Client.retry."""
        return await self._send(calls.change_state(job_id, "retry"))

    async def delete(self, job_id: str) -> None:
        """Delete a job that has ended, with its files. Raises Conflict, NotFound."""
        await self._send(calls.delete(job_id))

    async def change_priority(self, job_id: str, priority: int) -> Job:
        """Change the priority of a job that has not ended. Raises Conflict, NotFound."""
        return await self.edit(job_id, priority=priority)

    async def edit(
        self,
        job_id: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
    ) -> Job:
        """Change attributes of a job; see Client.edit."""
        changes = {
            "name": name,
            "notes": notes,
            "tags": None if tags is None else [*tags],
            "add_tags": [*add_tags] or None,
            "remove_tags": [*remove_tags] or None,
            "group": group,
            "priority": priority,
        }
        return await self._send(calls.edit(job_id, changes))

    async def cancel_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Cancel all jobs of a selection; with `dry_run` only count them."""
        return await self._change_all("cancel", selection, dry_run)

    async def delete_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Delete all jobs of a selection that have ended; with `dry_run` only count them."""
        return await self._change_all("delete", selection, dry_run)

    async def pause_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Pause all jobs of a selection; with `dry_run` only count them."""
        return await self._change_all("pause", selection, dry_run)

    async def finish_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Finish all running jobs of a selection, see `finish`; with `dry_run` only count them."""
        return await self._change_all("finish", selection, dry_run)

    async def resume_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Resume all paused jobs of a selection; with `dry_run` only count them."""
        return await self._change_all("resume", selection, dry_run)

    async def retry_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Retry all failed jobs of a selection; with `dry_run` only count them."""
        return await self._change_all("retry", selection, dry_run)

    async def edit_all(
        self,
        selection: JobSelection,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
        dry_run: bool = False,
    ) -> BatchResult:
        """Change tags, group or priority of all jobs of a selection, see `edit`."""
        changes = {
            "add_tags": [*add_tags],
            "remove_tags": [*remove_tags],
            "group": group,
            "priority": priority,
        }
        return await self._change_all("edit", selection, dry_run, changes)

    async def _change_all(
        self,
        verb: str,
        selection: JobSelection,
        dry_run: bool,
        changes: dict[str, Any] | None = None,
    ) -> BatchResult:
        total: BatchResult | None = None  # of as many requests as are needed
        while True:
            result = await self._send(calls.change_all(verb, selection, dry_run, changes))
            total = result if total is None else total.followed_by(result)
            if dry_run or not result.remaining:
                return total
