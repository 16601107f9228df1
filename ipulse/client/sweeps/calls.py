"""The calls of the HTTP API about sweeps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx

from ipulse.client.transport.api_call import JSON_CONTENT, APICall, object_in
from ipulse.idempotency import check_key
from ipulse_core import strict_json
from ipulse_core.errors import NotFound
from ipulse_core.messages import ID

from .resources import SweepPlan, SweepStatus, SweepTrial

if TYPE_CHECKING:
    from ipulse.sweeps import SweepConfig


def create_sweep(
    definition: SweepConfig | Mapping[str, Any], idempotency_key: str
) -> APICall[SweepStatus]:
    """Return the call that creates a sweep. Raises InvalidSweep."""
    headers = {**JSON_CONTENT, "Idempotency-Key": check_key(idempotency_key)}
    content = _definition(definition)
    return APICall("POST", "/v1/sweeps", _sweep, headers=headers, content=content)


def plan_sweep(definition: SweepConfig | Mapping[str, Any]) -> APICall[SweepPlan]:
    """Return the call that plans a sweep. Raises InvalidSweep."""

    def read(response: httpx.Response) -> SweepPlan:
        return SweepPlan.from_json(object_in(response))

    content = _definition(definition)
    return APICall("POST", "/v1/sweeps:plan", read, headers=JSON_CONTENT, content=content)


def _definition(definition: SweepConfig | Mapping[str, Any]) -> bytes:
    from ipulse.models.partial_json import given_json
    from ipulse.sweeps import SweepConfig, parse_sweep

    config = definition if isinstance(definition, SweepConfig) else parse_sweep(definition)
    # Not sorted: the order of the parameters is that of the axes.
    return json.dumps(given_json(config), allow_nan=False).encode()


def sweep(sweep_id: str) -> APICall[SweepStatus]:
    """Return the call that reads a sweep."""
    return APICall("GET", _path(sweep_id), _sweep)


def sweeps(page_size: int, page_token: str) -> APICall[tuple[list[SweepStatus], str]]:
    """Return the call that reads one page of sweeps and the token of the next one."""

    def read(response: httpx.Response) -> tuple[list[SweepStatus], str]:
        value = object_in(response)
        listed = [SweepStatus.from_json(item) for item in value["sweeps"]]
        return listed, value["next_page_token"]

    params: dict[str, Any] = {"page_size": page_size}
    if page_token:
        params["page_token"] = page_token
    return APICall("GET", "/v1/sweeps", read, params=params)


def sweep_trials(sweep_id: str, after: int) -> APICall[tuple[list[SweepTrial], int | None]]:
    """Return the call that reads one page of trials and where the next one begins."""

    def read(response: httpx.Response) -> tuple[list[SweepTrial], int | None]:
        value = object_in(response)
        listed = [SweepTrial.from_json(item) for item in value["trials"]]
        return listed, value["next_after"]

    return APICall("GET", _path(sweep_id) + "/trials", read, params={"after": after})


def change_state(sweep_id: str, verb: str, running: str | None = None) -> APICall[SweepStatus]:
    """Return the call that pauses, resumes or stops a sweep."""
    params = {} if running is None else {"running": running}
    return APICall("POST", f"{_path(sweep_id)}/{verb}", _sweep, params=params)


def change_sweep(
    sweep_id: str,
    trials: int | None,
    parallel: int | None,
    values: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    limits: Mapping[str, Any] | None,
) -> APICall[SweepStatus]:
    """Return the call that extends a sweep."""
    more: dict[str, Any] = {"values": {name: [*added] for name, added in values.items()}}
    more["seeds"] = [*seeds]
    if limits is not None:
        more["limits"] = dict(limits)
    content = strict_json.dumps({"trials": trials, "parallel": parallel, **more}).encode()
    return APICall("PATCH", _path(sweep_id), _sweep, headers=JSON_CONTENT, content=content)


def retry_sweep(
    sweep_id: str, failed: bool, deleted: bool, trials: Sequence[int]
) -> APICall[SweepStatus]:
    """Return the call that repeats jobs of a sweep."""
    params = {"failed": failed, "deleted": deleted, "trial": [*trials]}
    return APICall("POST", f"{_path(sweep_id)}/retry", _sweep, params=params)


def delete_sweep(sweep_id: str) -> APICall[None]:
    """Return the call that deletes a sweep."""
    return APICall("DELETE", _path(sweep_id), lambda response: None)


def _path(sweep_id: str) -> str:
    # The id becomes a part of a path, where dots and slashes have a meaning.
    if not ID.fullmatch(sweep_id):
        raise NotFound(f"there is no sweep {sweep_id[:100]!r}")
    return f"/v1/sweeps/{sweep_id}"


def _sweep(response: httpx.Response) -> SweepStatus:
    return SweepStatus.from_json(object_in(response))
