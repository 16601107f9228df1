"""Reserves the IPUs of one attempt in a sandbox, and records their use."""

from __future__ import annotations

import os
from typing import Callable, FrozenSet, Optional, Tuple

from ipulse_core.build_cache.directory import cache_directory
from ipulse_core.sandbox.device_access import NO_DEVICES, DeviceAccess
from ipulse_worker.runner.devices import ipu_users
from ipulse_worker.runner.devices.ipu_link import IPULink
from ipulse_worker.runner.devices.pool import (
    DeviceUnavailable,
    Reservation,
    UsageRecords,
    WaitPolicy,
    devices_directory,
)
from ipulse_worker.runner.devices.pool.card_pool import CardPool

POLL_SECONDS = 1.0  # cards that trainings use become free without a signal


class CardReservation:
    """The cards of an attempt. The IPUs of IPU-Machines are shared by their controller instead."""

    _link: IPULink
    _is_sandboxed = True
    devices: DeviceAccess = NO_DEVICES  # for the sandbox; after `reserve`

    def __init__(self, job_id: str, ipus: int, check: Callable[[], None]) -> None:
        """Take the number of IPUs; `check` raises an error if the attempt was cancelled."""
        self._job_id, self._ipus, self._check = job_id, ipus, check
        self._reservation: Optional[Reservation] = None
        self._records: Optional[UsageRecords] = None

    def find(self, is_sandboxed: bool) -> None:
        """Raise DeviceUnavailable or SandboxUnavailable if this machine can never have them."""
        self._is_sandboxed = is_sandboxed
        self._link = IPULink.of_machine(os.environ)
        if is_sandboxed:
            self._link.require_network()
        cards = len(self._link.cards)
        if cards and self._ipus > cards:
            raise DeviceUnavailable(
                f"the job needs {self._ipus} IPUs and this worker has {cards}: lower device.ipus"
            )

    def reserve(self, seconds: float, setting: str, report: Callable[[str], None]) -> None:
        """Wait for cards. Raises DeviceUnavailable.

        Args:
            seconds: the longest wait.
            setting: which limits it, for messages.
            report: receives what it waits for.
        """
        shared = devices_directory(os.environ, cache_directory())
        chosen: Tuple[int, ...] = ()
        if self._link.cards and self._is_sandboxed:
            policy = WaitPolicy(
                POLL_SECONDS,
                seconds,
                self._check,
                lambda wait: report(f"waiting for {self._ipus} IPU(s): {wait}"),
                setting,
            )
            pool = CardPool(shared / "cards", len(self._link.cards), self._in_use)
            self._reservation = pool.acquire(self._ipus, self._job_id, policy)
            chosen = self._reservation.ipus
        self.devices = self._link.access(chosen) if self._is_sandboxed else self._link.unconfined()
        self._records = UsageRecords(shared / "ipu-jobs")
        self._records.hold(self._job_id, self._ipus)

    def release(self) -> None:
        """Give the cards back; may be called twice, also without a `reserve`."""
        if self._reservation is not None:
            self._reservation.release()
        if self._records is not None:
            self._records.drop()

    def _in_use(self) -> FrozenSet[int]:
        """Return the indices of cards that processes use, as far as the driver says."""
        view = ipu_users.driver_view()
        used = {user.ipu for user in view.users} if view else set()
        return frozenset(index for index, card in enumerate(self._link.cards) if str(card) in used)
