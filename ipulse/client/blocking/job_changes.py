"""The methods of the synchronous client that change jobs."""

from __future__ import annotations

from collections.abc import Sequence

from ipulse.client.client_base import ClientBase
from ipulse.client.jobs.batches import BatchResult, JobSelection
from ipulse.client.jobs.resources import Job
from ipulse.client.transport.transports import finished


class BlockingJobChanges:
    """Cancels, pauses, retries, edits and deletes jobs."""

    _calls: ClientBase

    def cancel(self, job_id: str) -> Job:
        """Cancel the job; a job that has ended does not change. Raises NotFound."""
        return finished(self._calls.cancel(job_id))

    def finish(self, job_id: str) -> Job:
        """End the training after its present step and keep its results, as `ipulse stop`.

        Repeated, or after the job's end, this changes nothing. Raises Conflict for a job that no
        agent holds, NotFound.
        """
        return finished(self._calls.finish(job_id))

    def continue_training(
        self, job_id: str, epochs: int, idempotency_key: str | None = None
    ) -> Job:
        """Train a job that has ended for more epochs, as a new job from its last checkpoint.

        Raises Conflict for a job that runs or has no checkpoint, NotFound.
        """
        return finished(self._calls.continue_training(job_id, epochs, idempotency_key))

    def pause(self, job_id: str) -> Job:
        """Pause the job; a running job writes a checkpoint first. Raises Conflict, NotFound."""
        return finished(self._calls.pause(job_id))

    def resume(self, job_id: str) -> Job:
        """Resume a paused job from its last checkpoint. Raises Conflict, NotFound."""
        return finished(self._calls.resume(job_id))

    def retry(self, job_id: str) -> Job:
        """Queue a failed job again under its id; it resumes from its last checkpoint, if any.

        Its events continue, and attempts and limits of time count anew. Jobs that were cancelled
        only because of its failure wait for it again, and its trial of a sweep runs again. A job
        that has not ended does not change. Raises Conflict for one that has succeeded or was
        cancelled, InvalidInput if no agent can run it any more, NotPermitted, NotFound.
        """
        return finished(self._calls.retry(job_id))

    def delete(self, job_id: str) -> None:
        """Delete a job that has ended, with its files. Raises Conflict, NotFound."""
        finished(self._calls.delete(job_id))

    def change_priority(self, job_id: str, priority: int) -> Job:
        """Change the priority of a job that has not ended. Raises Conflict, NotFound."""
        return self.edit(job_id, priority=priority)

    def edit(
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
        """Change attributes of a job; those that are not given stay as they are.

        `tags` replace all tags of the job; an empty `group` takes it out of its group. Raises
        InvalidInput, Conflict for the priority of a job that has ended, and NotFound.
        """
        return finished(
            self._calls.edit(
                job_id,
                name=name,
                notes=notes,
                tags=tags,
                add_tags=add_tags,
                remove_tags=remove_tags,
                group=group,
                priority=priority,
            )
        )

    def cancel_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Cancel all jobs of a selection; with `dry_run` only count them."""
        return finished(self._calls.cancel_all(selection, dry_run))

    def delete_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Delete all jobs of a selection that have ended; with `dry_run` only count them."""
        return finished(self._calls.delete_all(selection, dry_run))

    def pause_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Pause all jobs of a selection; with `dry_run` only count them."""
        return finished(self._calls.pause_all(selection, dry_run))

    def finish_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Finish all running jobs of a selection, see `finish`; with `dry_run` only count them."""
        return finished(self._calls.finish_all(selection, dry_run))

    def resume_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Resume all paused jobs of a selection; with `dry_run` only count them."""
        return finished(self._calls.resume_all(selection, dry_run))

    def retry_all(self, selection: JobSelection, dry_run: bool = False) -> BatchResult:
        """Retry all failed jobs of a selection, see `retry`; with `dry_run` only count them."""
        return finished(self._calls.retry_all(selection, dry_run))

    def edit_all(
        self,
        selection: JobSelection,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        group: str | None = None,
        priority: int | None = None,
        dry_run: bool = False,
    ) -> BatchResult:
        """Change tags, group or priority of all jobs of a selection, see `edit`.

        A job for which one of the changes is not possible stays as it is. With `dry_run` the jobs
        are only counted.
        """
        return finished(
            self._calls.edit_all(
                selection,
                add_tags=add_tags,
                remove_tags=remove_tags,
                group=group,
                priority=priority,
                dry_run=dry_run,
            )
        )
