"""Registers the agent with the service and renews the registration."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ipulse_core.capabilities import is_more
from ipulse_core.errors import IPUlseError
from ipulse_core.repeating_thread import RepeatingThread
from ipulse_core.worker_faults import WorkerFault
from ipulse_worker.agent.registration.host_check import CHECK_SECONDS, HostCheck
from ipulse_worker.agent.registration.inventory import InventoryReader
from ipulse_worker.agent.registration.quarantine import Quarantine
from ipulse_worker.agent.retry_policy import retry_while_unavailable
from ipulse_worker.agent.service_api import ServiceAPI
from ipulse_worker.agent.service_types import AgentOrders
from ipulse_worker.agent.settings import AgentSettings

EVERY_SECONDS = 30.0
LAST_SECONDS = 2.0  # that the end waits for a registration, or a command, that is under way
RETRY_SECONDS = 2.0  # after the retry policy has given up, or a refusal

_log = logging.getLogger(__name__)


class Registration:
    """A thread that registers the agent; attempts do not depend on it."""

    def __init__(
        self,
        api: ServiceAPI,
        settings: AgentSettings,
        quarantine: Quarantine,
        host: HostCheck,
        on_orders: Callable[[AgentOrders], None],
    ) -> None:
        """Prepare the thread; it calls `on_orders` with the answer to each registration."""
        self._api = api
        self._settings = settings
        self._quarantine = quarantine
        self._host = host
        self._on_orders = on_orders
        self._inventory = InventoryReader(settings)
        self._registered_data = 0
        self._has_registered = False
        self._registering = threading.Lock()
        self._registered_trouble: WorkerFault | None = None
        self._registered_room: Mapping[str, int] = {}
        self._due = 0.0  # of the monotonic clock
        self._is_wanted = False  # at once
        self._is_registered = True
        self._thread = RepeatingThread("registration", self._turn, is_daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End the thread, without waiting for it, and sign the agent off.

        A service that does not answer finds out by the agent's silence.
        """
        self._thread.end()
        self._inventory.close(LAST_SECONDS)
        # A registration that arrived later would undo it.
        if not self._registering.acquire(timeout=LAST_SECONDS):
            return
        try:
            if self._has_registered:
                self._api.sign_off(self._settings.name)
        except IPUlseError as error:
            _log.info("not_signed_off", extra={"why": error.message})
        finally:
            self._registering.release()

    def renew_now(self) -> None:
        """Renew the registration at once, because something has changed."""
        self._is_wanted = True
        self._thread.wake()

    def check_again(self) -> None:
        """Check this machine's software and announce it: a job lacked what should be there."""
        self._inventory.check_again()
        self.renew_now()

    def _turn(self) -> float:
        """Register if it is time to or there is news; return the seconds until the next look."""
        is_wanted, self._is_wanted = self._is_wanted, False
        left = self._due - time.monotonic()
        if left > 0 and not is_wanted and not self._has_news():
            return min(left, CHECK_SECONDS)
        pause = EVERY_SECONDS
        try:
            # When a stack starts, the service may be ready a little later than the agent.
            retry_while_unavailable(self._register, self._thread.sleep_until_woken)
        except (IPUlseError, OSError) as error:  # or a new token cannot be written
            if self._is_registered and not self._thread.is_stopping:  # logged once per outage
                _log.warning("not_registered", extra={"why": str(error)})
            self._is_registered, pause = False, RETRY_SECONDS
        else:
            self._is_registered = True
        self._due = time.monotonic() + pause
        return min(pause, CHECK_SECONDS)

    def _has_news(self) -> bool:
        return (
            self._quarantine.trouble != self._registered_trouble
            or _differs(self._host.capabilities(), self._registered_room)
            or self._inventory.state_of_data() != self._registered_data
        )

    def _register(self) -> None:
        trouble = self._quarantine.trouble
        if trouble and trouble != self._registered_trouble:
            extra = {"reason": trouble.reason.value, "why": trouble.message}
            _log.warning("takes_no_jobs", extra=extra)
        elif self._registered_trouble and not trouble:
            _log.info("takes_jobs_again")
        self._registered_trouble = trouble
        self._registered_data = self._inventory.state_of_data()
        inventory = self._inventory.read()  # which may take long: the room is measured later
        self._registered_room = self._host.capabilities()
        inventory = replace(
            inventory, capabilities={**inventory.capabilities, **self._registered_room}
        )
        with self._registering:
            if self._thread.is_stopping:
                return
            self._has_registered = True  # also if its answer is lost
            orders = self._api.register(
                self._settings.name,
                self._settings.device_kinds,
                self._quarantine.quarantined,
                inventory,
                trouble=trouble,
                quarantine_reasons=self._quarantine.reasons,
            )
        self._on_orders(orders)


def _differs(room: Mapping[str, int], registered: Mapping[str, int]) -> bool:
    """Return whether the service should know of a change of the room for jobs at once."""
    return any(
        is_more(max(amount, registered.get(name, 0)), min(amount, registered.get(name, 0)))
        for name, amount in room.items()
    )
