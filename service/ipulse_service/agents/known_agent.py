"""An agent as the service knows it: what it has, and which jobs it can run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ipulse_core.capabilities import IPU_TENSORFLOW, SANDBOX, TOTALS, Capability, is_more
from ipulse_core.limits import DEFAULT_POOL
from ipulse_core.spec.neuron_packages import PackageDescription
from ipulse_core.worker_faults import WorkerFault
from ipulse_service.agents.needs import Needs

PRESENT_MS = 90_000  # an agent that has not registered again for longer counts as absent
ANY_VALUE = "*"  # of a label that a job asks for


@dataclass(frozen=True)
class KnownAgent:
    """An agent that has registered or joined. Times are milliseconds since 1970."""

    name: str
    device_kinds: tuple[str, ...]
    quarantined: tuple[str, ...] = ()  # kinds that it does not use after an error of the device
    quarantine_reasons: Mapping[str, str] = field(default_factory=dict)  # by kind
    capabilities: Mapping[str, Capability] = field(default_factory=dict)  # where it said so
    remarks: Mapping[str, str] = field(default_factory=dict)  # why it lacks some, or limits
    host: str = ""  # empty if it did not say
    ipus: Mapping[str, int] = field(default_factory=dict)  # number by kind, where it is known
    data_sets: frozenset[str] | None = None  # KIND/NAME; None if it did not say
    cached: frozenset[str] = frozenset()  # digests of uploaded data sets that it keeps
    version: str = ""
    seen_at: int = 0
    since: int = 0  # present without a gap since then
    has_stopped: bool = False  # it signed off when it stopped
    fault: WorkerFault | None = None  # of its machine, for which it takes no job
    fault_since: int | None = None
    neuron_packages: tuple[PackageDescription, ...] = ()  # that the service signed off
    labels: Mapping[str, str] = field(default_factory=dict)
    pool: str = DEFAULT_POOL  # in which it is
    joined_at: int | None = None  # None: it belongs to the service's machine
    draining_at: int | None = None  # it takes no more jobs since then
    drain_until: int | None = None  # then it gives back a job that it still holds

    @property
    def is_draining(self) -> bool:
        """True while it takes no more jobs."""
        return self.draining_at is not None

    @property
    def usable_kinds(self) -> tuple[str, ...]:
        """The kinds of devices that it uses now."""
        if self.is_draining:
            return ()
        return tuple(kind for kind in self.device_kinds if kind not in self.quarantined)

    def is_present(self, now: int) -> bool:
        """Returns whether it registered lately and has not stopped since then."""
        return not self.has_stopped and self.seen_at > now - PRESENT_MS

    def has_device(self, needs: Needs) -> bool:
        """Returns whether it is in the pool of a job and has such a device."""
        return needs.pool == self.pool and needs.device in self.device_kinds

    def has_ipus(self, needs: Needs) -> bool:
        """Returns whether it has enough IPUs; one that did not say how many may have enough."""
        return needs.ipus <= self.ipus.get(needs.device, needs.ipus)

    def has_data(self, needs: Needs) -> bool:
        """Returns whether it has the data set; one that did not say may have it."""
        return needs.data_set is None or self.data_sets is None or needs.data_set in self.data_sets

    def has_labels(self, needs: Needs) -> bool:
        """Returns whether it has each label that the job asks for."""
        return all(
            name in self.labels and value in (ANY_VALUE, self.labels[name])
            for name, value in needs.requirements.labels.items()
        )

    def has_software(self, needs: Needs) -> bool:
        """Returns whether it has the software that the job needs."""
        return all(map(self.may_have, needs.requirements.software))

    def may_have(self, name: str) -> bool:
        """Returns whether it has a capability.

        An agent of an older version that does not say may have it, but for a sandbox, because its
        users would trust it with code of others, and for scripts, which it does not know.
        """
        return bool(self.capabilities.get(name, name not in (SANDBOX, IPU_TENSORFLOW)))

    def has_packages(self, needs: Needs) -> bool:
        """Returns whether it has each package of neurons that the job needs."""
        wanted = set(needs.requirements.neuron_packages)
        return wanted <= {each.package for each in self.neuron_packages}

    def has_more(self, needs: Needs) -> bool:
        """Returns whether it has more than was not enough; one that did not say may have more."""
        return all(
            name not in self.capabilities or is_more(int(self.capabilities[name]), tried)
            for name, tried in needs.requirements.too_little.items()
        )

    def may_have_more(self, needs: Needs) -> bool:
        """Returns whether it has more than was not enough, or would with an empty disk."""
        tried = needs.requirements.too_little
        totals = {name: self.capabilities.get(TOTALS[name]) for name in tried}
        return all(
            total is None or is_more(int(total), tried[name]) for name, total in totals.items()
        )

    def is_suited(self, needs: Needs) -> bool:
        """Returns whether it has the device, labels and data set that a job needs.

        Software that it lacks may come: agents look for it again, and a user may install it.
        """
        has_device = self.has_device(needs) and self.has_ipus(needs)
        return has_device and self.has_labels(needs) and self.has_data(needs)

    def can_run(self, needs: Needs) -> bool:
        """Returns whether it has all that a job needs, whether or not it uses the device now."""
        has_software = self.has_software(needs) and self.has_packages(needs)
        return self.is_suited(needs) and has_software and self.has_more(needs)


@lru_cache(256)  # a list may be long, and is read for every submission
def names(text: str) -> frozenset[str]:
    """Returns the names of a JSON array."""
    return frozenset(json.loads(text))
