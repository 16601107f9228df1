"""Ids of the newest jobs, and terms of queries, for a shell at each press of Tab.

They are read with the standard library: to import the client takes 1.3 s of processor time, and
httpx alone 0.3 s (tests/ipulse/cli/service/test_completion.py has the limit).
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

from ipulse.client.location import ServiceLocation, find_service
from ipulse.stack import tls
from ipulse_core.errors import IPUlseError
from ipulse_core.ids import JOB, SWEEP, is_id, short_id
from ipulse_core.states import JobState

OFFERED = 20  # jobs
TIMEOUT = 2.0  # seconds that a shell may wait for the service
LOCATION = ("url", "token_file", "home", "ca")  # the options that say where the service is
_MOST_BYTES = 2**22
_PLAIN = re.compile(r"[\w./@+-]+")  # a shell may evaluate other characters


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def offered_jobs(options: Mapping[str, Any], begun: str) -> list[tuple[str, str]]:
    """Return the ids of the newest jobs that begin so, and their states; none if it fails."""
    try:
        service = find_service(**{name: options.get(name) for name in LOCATION})
        jobs = _newest(service)
    except (IPUlseError, OSError, HTTPException, ValueError, KeyError, TypeError):
        return []
    # A shell may evaluate them: they are nothing but ids.
    ids = [(job_id, state) for job_id, state in jobs if is_id(JOB, job_id)]
    if not begun.startswith("job_"):
        ids = [(short_id(job_id), state) for job_id, state in ids]
        ids = [*([("latest", ids[0][1])] if ids else []), *ids]
    return [(job_id, state) for job_id, state in ids if job_id.startswith(begun)]


def offered_sweeps(options: Mapping[str, Any], begun: str) -> list[tuple[str, str]]:
    """Return the ids of the newest sweeps that begin so, and their states; none if it fails."""
    found = _asked(options, f"/v1/sweeps?page_size={OFFERED}", "sweeps", ("id", "state"))
    ids = [(sweep_id, state) for sweep_id, state in found if is_id(SWEEP, sweep_id)]
    if not begun.startswith("swp_"):
        ids = [(short_id(sweep_id), state) for sweep_id, state in ids]
        ids = [*([("latest", ids[0][1])] if ids else []), *ids]
    return [each for each in ids if each[0].startswith(begun)]


def offered_datasets(options: Mapping[str, Any], begun: str) -> list[tuple[str, str]]:
    """Return the names of the data sets that begin so, and their kinds; none if it fails."""
    found = _asked(options, "/v1/datasets", "datasets", ("name", "kind"))
    return [each for each in found if each[0].startswith(begun) and _PLAIN.fullmatch(each[0])]


def offered_columns(options: Mapping[str, Any], begun: str) -> list[tuple[str, str]]:
    """Return lists of names that go on with one more column of jobs; none if it fails."""
    before, comma, last = begun.rpartition(",")
    found = _asked(options, "/v1/jobs:columns", "columns", ("label", "kind"))
    names = [name for name, _ in found if name.startswith(last) and _PLAIN.fullmatch(name)]
    return [(f"{before}{comma}{name}", "") for name in names]


def _asked(
    options: Mapping[str, Any], path: str, key: str, fields: tuple[str, str]
) -> list[tuple[str, str]]:
    """Return two fields of each item of an answer; nothing if it fails."""
    try:
        service = find_service(**{name: options.get(name) for name in LOCATION})
        items = _get(service, path)[key]
        return [(str(item[fields[0]]), str(item.get(fields[1]) or "")) for item in items]
    except (IPUlseError, OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError):
        return []


def offered_terms(options: Mapping[str, Any], begun: str) -> list[tuple[str, str]]:
    """Return queries that continue one, by names and values that the service has; none if it fails.

    They may contain any letter and sign, but nothing that controls a terminal or is not visible.
    Whoever passes them to a shell must quote them.
    """
    try:
        service = find_service(**{name: options.get(name) for name in LOCATION})
        found = _get(service, f"/v1/jobs:suggest?q={quote(begun, safe='')}")
        terms = [begun[: found["start"]] + str(item["text"]) for item in found["items"]]
    except (IPUlseError, OSError, HTTPException, ValueError, KeyError, TypeError):
        return []
    return [(term, "") for term in terms if term.isprintable()]


def _newest(service: ServiceLocation) -> list[tuple[str, str]]:
    jobs = _get(service, f"/v1/jobs?page_size={OFFERED}")["jobs"]
    return [(str(job["id"]), JobState(job["state"]).value) for job in jobs]


def _get(service: ServiceLocation, path: str) -> Any:
    handlers: list[Any] = [_NoRedirect]
    if service.url.startswith("https:"):
        context = tls.trust_from(service.url, service.trust)
        handlers.append(urllib.request.HTTPSHandler(context=context))
    if service.is_local:  # a proxy cannot reach it
        handlers.append(urllib.request.ProxyHandler({}))
    headers = {"Authorization": f"Bearer {service.token}", "Accept": "application/json"}
    request = urllib.request.Request(  # noqa: S310  # the scheme was checked
        service.url + path, headers=headers
    )
    with urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT) as response:
        return json.loads(response.read(_MOST_BYTES))


# What a shell is offered for the kinds of parameters in the index of commands.
OFFERS: dict[str, Callable[[Mapping[str, Any], str], list[tuple[str, str]]]] = {
    "job": offered_jobs,
    "term": offered_terms,
    "sweep": offered_sweeps,
    "dataset": offered_datasets,
    "column": offered_columns,
}
