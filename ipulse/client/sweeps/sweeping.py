"""The calls of both clients about sweeps."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ipulse.client.transport.call_sender import CallSender
from ipulse.sweeps import SweepConfig

from . import calls
from .resources import SweepStatus, SweepTrial


class Sweeping(CallSender):
    """The calls about sweeps."""

    async def create_sweep(
        self, definition: SweepConfig | Mapping[str, Any], idempotency_key: str | None = None
    ) -> SweepStatus:
        """Create a sweep from its definition; see Client.create_sweep."""
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return await self._send(calls.create_sweep(definition, key))

    async def sweep(self, sweep_id: str) -> SweepStatus:
        """Return the sweep in its current state. Raises NotFound."""
        return await self._send(calls.sweep(sweep_id))

    async def sweeps(self, limit: int = 100) -> list[SweepStatus]:
        """Return the latest sweeps, newest first."""
        found: list[SweepStatus] = []
        token = ""
        while True:
            page, token = await self._send(calls.sweeps(min(limit - len(found), 500), token))
            found += page
            if not token or len(found) >= limit:
                return found[:limit]

    async def sweep_trials(self, sweep_id: str) -> list[SweepTrial]:
        """Return all trials of a sweep that have begun, in order. Raises NotFound."""
        found: list[SweepTrial] = []
        after: int | None = 0
        while after is not None:
            page, after = await self._send(calls.sweep_trials(sweep_id, after))
            found += page
        return found

    async def pause_sweep(self, sweep_id: str) -> SweepStatus:
        """Begin no more trials for now. Raises Conflict for a sweep that stops, NotFound."""
        return await self._send(calls.change_state(sweep_id, "pause"))

    async def resume_sweep(self, sweep_id: str) -> SweepStatus:
        """Let a paused sweep begin trials again. Raises Conflict, NotFound."""
        return await self._send(calls.change_state(sweep_id, "resume"))

    async def stop_sweep(self, sweep_id: str, running: str = "keep") -> SweepStatus:
        """Begin no more trials and cancel queued jobs; see Client.stop_sweep."""
        return await self._send(calls.change_state(sweep_id, "stop", running))

    async def change_sweep(
        self,
        sweep_id: str,
        trials: int | None = None,
        parallel: int | None = None,
        *,
        values: Mapping[str, Sequence[Any]] | None = None,
        seeds: Sequence[int] = (),
        limits: Mapping[str, Any] | None = None,
    ) -> SweepStatus:
        """Extend a sweep; see Client.change_sweep."""
        call = calls.change_sweep(sweep_id, trials, parallel, values or {}, seeds, limits)
        return await self._send(call)

    async def retry_sweep(
        self,
        sweep_id: str,
        *,
        failed: bool = False,
        deleted: bool = False,
        trials: Sequence[int] = (),
    ) -> SweepStatus:
        """Repeat jobs of a sweep; see Client.retry_sweep."""
        return await self._send(calls.retry_sweep(sweep_id, failed, deleted, trials))

    async def delete_sweep(self, sweep_id: str) -> None:
        """Delete a sweep that has ended; its jobs stay. Raises Conflict, NotFound."""
        await self._send(calls.delete_sweep(sweep_id))
