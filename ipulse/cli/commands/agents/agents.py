"""agent token, list, drain and remove, and devices: agents as the service knows them."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from ipulse.cli.exits import Exit
from ipulse.cli.options import Address, AsJSON, Wide, Yes, addressed
from ipulse.cli.tables import show_list
from ipulse.cli.terminal import confirm, emit, minute_text, say, second_text, show, show_done
from ipulse.client import Connection
from ipulse.client.administration.resources import AgentStatus
from ipulse.client.location import is_local_url
from ipulse_core.errors import InvalidInput, Problem, Unavailable

HOUR_SECONDS = 3600

AgentNameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the agent.", show_default=False)
]


@addressed
def create_join_token(
    at: Address,
    labels: Annotated[
        str, typer.Option(metavar="NAME=VALUE,..", help="Labels of the agents that join with it.")
    ] = "",
    uses: Annotated[
        int, typer.Option(min=1, max=1000, help="How many agents may join with it.")
    ] = 1,
    hours: Annotated[float, typer.Option(min=0.001, max=720, help="Hours until it expires.")] = 1.0,
    join_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Address of the service for the other machine. [default: its own, if it has TLS]",
        ),
    ] = "",
    listed: Annotated[
        bool, typer.Option("--list", help="List the join tokens that can still be used.")
    ] = False,
    revoke: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Revoke a join token; agents that joined with it stay."),
    ] = None,
    yes: Yes = False,
    as_json: AsJSON = False,
) -> Exit:
    """Print the command with which an agent of another machine joins this service.

    It contains a secret token, which is stored nowhere. Only the owner's token can make one.
    """
    if listed and revoke is not None:
        detail = "--list and --revoke exclude each other"
        raise InvalidInput([Problem("/revoke", "contradiction", detail)], detail)
    if revoke is not None:
        confirm("revoke", f"the join token {revoke}", yes)
        with at.connect() as connection:
            connection.revoke_join_token(revoke)
        show_done("revoked", revoke, as_json)
        return Exit.OK
    with at.connect() as connection:
        if listed:
            return _list_join_tokens(connection, as_json)
        made = connection.create_join_token(parse_labels(labels), uses, round(hours * HOUR_SECONDS))
        reached = connection.url
    is_good = reached.startswith("https://") and not is_local_url(reached)
    choices = [join_url, reached if is_good else "", *made.urls]
    url = next(filter(None, choices), None)
    if url is None:
        raise Unavailable(
            "this service has no address with HTTPS: start it with `ipulse up --tls --host "
            "ADDRESS`, or name the address of the proxy that adds TLS with --join-url URL"
        )
    command = ["ipulse", "agent", "join", url, "--token", made.secret]
    if made.pin:
        command += ["--pin", made.pin]
    if as_json:
        emit({**made.json, "url": url, "command": command})
        return Exit.OK
    show(shlex.join(command))
    if is_local_url(url):
        say(
            "The service listens on this machine only: restart it with `ipulse up --tls --host "
            "ADDRESS` for agents on other machines.",
            style="yellow",
        )
    how_many = "one agent" if uses == 1 else f"{uses} agents"
    say(f"Run it on the other machine. It admits {how_many} until {minute_text(made.expires_at)}.")
    return Exit.OK


def _list_join_tokens(connection: Connection, as_json: bool) -> Exit:
    tokens = connection.join_tokens()
    rows = [
        (
            token.id,
            str(token.uses_left),
            minute_text(token.expires_at),
            labels_text(token.labels),
        )
        for token in tokens
    ]
    documents = [token.json["about"] for token in tokens]
    show_list("join_tokens", documents, ["ID", "USES LEFT", "EXPIRES", "LABELS"], rows, as_json)
    return Exit.OK


@addressed
def list_agents(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the agents that have joined or were seen in the last week, and their jobs."""
    with at.connect() as connection:
        agents = connection.agents()
    rows = [
        (
            agent.name,
            agent.state,
            ",".join(agent.device_kinds),
            agent.job_id or "",
            second_text(agent.last_seen),
            agent.version,
            agent.json.get("pool", ""),
            labels_text(agent.labels),
            ",".join(sorted(agent.missing)),
            agent.state_reason,
        )
        for agent in agents
    ]
    headers = [
        "NAME",
        "STATE",
        "DEVICES",
        "JOB",
        "LAST SEEN",
        "VERSION",
        "POOL",
        "LABELS",
        "LACKS",
        "REASON",
    ]
    show_list("agents", [agent.json for agent in agents], headers, rows, as_json, wide)
    unknown = [agent.name for agent in agents if agent.has_unknown_data]
    if unknown and not as_json:
        say(
            f"These do not say which data sets they have: {', '.join(unknown)}. Meanwhile jobs are "
            "accepted for any; `ipulse agent remove NAME` removes one that is gone for good.",
            style="yellow",
        )
    return Exit.OK


@addressed
def list_devices(at: Address, wide: Wide = False, as_json: AsJSON = False) -> Exit:
    """List the devices of all agents, and the jobs that use them."""
    with at.connect() as connection:
        devices = connection.devices()
    rows = [
        (
            device.agent,
            device.kind,
            device.state,
            device.job_id or "",
            second_text(device.since) if device.since else "",
            device.json.get("pool", ""),
            labels_text(device.labels),
        )
        for device in devices
    ]
    headers = ["AGENT", "DEVICE", "STATE", "JOB", "SINCE", "POOL", "LABELS"]
    show_list("devices", [device.json for device in devices], headers, rows, as_json, wide)
    return Exit.OK


@addressed
def drain_agent(
    at: Address,
    name: AgentNameArgument,
    within: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=30 * 24 * HOUR_SECONDS,
            metavar="SECONDS",
            help="Then a job that it still holds returns to the queue, from a checkpoint. "
            "[default: the job may end]",
        ),
    ] = None,
    end: Annotated[
        bool, typer.Option("--end", help="End the drain: the agent claims jobs again.")
    ] = False,
    as_json: AsJSON = False,
) -> Exit:
    """Keep jobs away from an agent, for instance before its machine is switched off."""
    if end and within is not None:
        detail = "--end and --within exclude each other"
        raise InvalidInput([Problem("/end", "contradiction", detail)], detail)
    with at.connect() as connection:
        if end:
            return _show(connection.resume_agent(name), as_json)
        return _show(connection.drain_agent(name, within), as_json)


@addressed
def remove_agent(
    at: Address, name: AgentNameArgument, yes: Yes = False, as_json: AsJSON = False
) -> Exit:
    """Remove an agent: the service refuses its token at once.

    A job that it holds is queued again. An agent of the service's own machine must be stopped.
    """
    with at.connect() as connection:
        found = [agent for agent in connection.agents() if agent.name == name]
        held = f", which holds {found[0].job_id}" if found and found[0].job_id else ""
        confirm("remove", f"the agent {name}{held}", yes)
        connection.remove_agent(name)
    show_done("removed", name, as_json)
    return Exit.OK


def _show(agent: AgentStatus, as_json: bool) -> Exit:
    if as_json:
        emit(agent.json)
    else:
        holds = f", holds {agent.job_id}" if agent.job_id else ""
        why = f": {agent.state_reason}" if agent.state_reason else ""
        show(f"{agent.name} is {agent.state}{holds}{why}")
    return Exit.OK


def labels_text(labels: dict[str, str]) -> str:
    """Return labels as NAME=VALUE,NAME=VALUE."""
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


def parse_labels(labels: str) -> dict[str, str]:
    """Return the labels of NAME=VALUE,NAME=VALUE. Raises InvalidInput."""
    parsed: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in labels.split(","))):
        name, equals, value = part.partition("=")
        if not equals or name in parsed:
            detail = f"must be NAME=VALUE,NAME=VALUE with each name once; got {labels[:80]!r}"
            raise InvalidInput([Problem("/labels", "bad_label", detail)], detail)
        parsed[name] = value
    return parsed
