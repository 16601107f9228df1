"""The calls about agents, devices, people, projects, tokens and webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ipulse.client import administration
from ipulse.times import sent_text

from .call_sender import AsyncCallSender

if TYPE_CHECKING:
    from ipulse.client.administration.resources import (
        AgentStatus,
        AuditPage,
        BrowserSession,
        CallerRights,
        Delivery,
        DeviceStatus,
        JoinToken,
        Pool,
        Project,
        QuotaLimit,
        Reservation,
        Token,
        UsedTime,
        User,
        Webhook,
    )


class AsyncAdministration(AsyncCallSender):
    """The calls about agents, devices, people, projects, tokens and webhooks."""

    async def agents(self) -> list[AgentStatus]:
        """Return the agents that have joined or were seen in the last week, and their jobs."""
        return await self._send(administration.calls.agents())

    async def devices(self) -> list[DeviceStatus]:
        """Return the devices of all agents, and the jobs that use them."""
        return await self._send(administration.calls.devices())

    async def drain_agent(self, name: str, seconds: int | None = None) -> AgentStatus:
        """Keep jobs away from an agent until it is resumed. Raises NotFound, NotPermitted.

        A job that it holds may end; with `seconds` it returns to the queue after that time, from a
        checkpoint.
        """
        return await self._send(administration.calls.drain_agent(name, seconds))

    async def resume_agent(self, name: str) -> AgentStatus:
        """Let an agent claim jobs again. Raises NotFound."""
        return await self._send(administration.calls.resume_agent(name))

    async def remove_agent(self, name: str) -> None:
        """Remove an agent and revoke its own token. Raises Conflict, NotFound."""
        await self._send(administration.calls.remove_agent(name))

    async def create_join_token(
        self, labels: Mapping[str, str] | None = None, uses: int = 1, seconds: int = 3600
    ) -> JoinToken:
        """Create a token with which so many agents of other machines may join within `seconds`.

        Only the owner's token can create one. The agents get the labels. The `secret` is returned
        only here. Raises NotPermitted.
        """
        # Not retried: a lost response would leave an unknown token behind.
        return await self._send(
            administration.calls.create_join_token(labels or {}, uses, seconds), tries=0
        )

    async def join_tokens(self) -> list[JoinToken]:
        """Return the join tokens that can still be used, without their secrets."""
        return await self._send(administration.calls.join_tokens())

    async def revoke_join_token(self, token_id: str) -> None:
        """Revoke a join token; agents that have joined with it stay. Raises NotFound."""
        await self._send(administration.calls.revoke_join_token(token_id))

    async def create_token(
        self,
        name: str,
        role: str | None,
        seconds: int,
        submit_code: bool = False,
        *,
        user: str | None = None,
        scopes: Sequence[str] | None = None,
        project: str | None = None,
    ) -> Token:
        """Create a token that expires after so many seconds.

        Args:
            name: Its name for people.
            role: Makes it one of a new service account of the project: reader (reads) or user (also
                submits jobs and changes its own); worker (runs jobs). None: one of `user`.
            seconds: Its life.
            submit_code: Whether it may also submit Poplar programs and custom ops.
            user: The person or service account that it acts for; by default the caller.
            scopes: The part of these rights that it carries, of read, submit, manage and admin; by
                default all that the token of this connection has.
            project: The only project in which it is valid.

        The `secret` is returned only here. Raises NotPermitted, NotFound.
        """
        # Not retried: a lost response would leave an unknown token behind.
        call = administration.calls.create_token(
            name, role, seconds, submit_code, user, scopes, project
        )
        return await self._send(call, tries=0)

    async def me(self) -> CallerRights:
        """Return the owner of the connection's token, and what it may do."""
        return await self._send(administration.calls.caller_rights())

    async def projects(self) -> list[Project]:
        """Return the projects that the token may read, without their members."""
        return await self._send(administration.calls.projects())

    async def project(self, name: str) -> Project:
        """Return a project with its members. Raises NotFound."""
        return await self._send(administration.calls.project(name))

    async def create_project(
        self, name: str, description: str = "", *, is_public: bool = False
    ) -> Project:
        """Create a project; everybody may read a public one. Raises NotPermitted, Conflict."""
        return await self._send(
            administration.calls.create_project(name, description, is_public), tries=0
        )

    async def change_project(
        self, name: str, *, description: str | None = None, is_public: bool | None = None
    ) -> Project:
        """Change a project; None leaves what is there. Raises NotFound, NotPermitted."""
        call = administration.calls.change_project(
            name, description=description, is_public=is_public
        )
        return await self._send(call)

    async def set_member(self, project: str, user: str, role: str) -> None:
        """Give somebody a role in a project: viewer, member, developer, maintainer, owner.

        Raises NotFound, NotPermitted, and Conflict if the project would have no owner.
        """
        await self._send(administration.calls.set_member(project, user, role))

    async def remove_member(self, project: str, user: str) -> None:
        """Remove somebody from a project. Raises NotFound, NotPermitted, Conflict."""
        await self._send(administration.calls.remove_member(project, user))

    async def audit_log(
        self,
        after: int = 0,
        limit: int = 1000,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
    ) -> AuditPage:
        """Return entries of the audit log after a number, at most `limit` (1 to 1,000), in order.

        An `action` may be named by its beginning, such as `job.`; a `target` is an id or a name.
        `ipulse.audit_chain.check` checks all of them. Raises NotPermitted.
        """
        return await self._send(administration.calls.audit_log(after, limit, actor, action, target))

    async def quotas(
        self, project: str | None = None, *, user: str | None = None
    ) -> list[QuotaLimit]:
        """Return the quotas of a project and its members, or of a person in all projects.

        Raises NotFound.
        """
        return await self._send(administration.calls.quotas(project, user))

    async def set_quotas(
        self,
        limits: Mapping[str, int | None],
        project: str | None = None,
        *,
        user: str | None = None,
    ) -> list[QuotaLimit]:
        """Set quotas of a project, of a person in it, or of a person in all projects.

        `limits` has values by name, such as `{"devices": 4}`; None removes one. Raises NotFound,
        NotPermitted.
        """
        return await self._send(administration.calls.set_quotas(project, user, limits))

    async def usage(
        self, *by: str, first: str | None = None, last: str | None = None
    ) -> list[UsedTime]:
        """Return device hours, added up by some of project, user, device and month (or by all).

        `first` and `last` are months such as 2026-01.
        """
        return await self._send(administration.calls.usage(by, first, last))

    async def pools(self) -> list[Pool]:
        """Return all pools of workers by name."""
        return await self._send(administration.calls.pools())

    async def create_pool(
        self,
        name: str,
        description: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        agents: Sequence[str] = (),
        projects: Sequence[str] | None = None,
        preemption: str = "never",
    ) -> Pool:
        """Create a pool of workers.

        Args:
            name: Specs name it as `device.pool`.
            description: What it is for.
            labels: A worker that has all of them is in it.
            agents: Names of workers, or patterns such as `pod-*`, that are in it in any case.
            projects: The projects that may use it; None: all.
            preemption: Which jobs may make others of the pool stop at their next checkpoint and go
                back to the queue: never, priority (those of a higher priority) or share (these, and
                those of a project that uses fewer devices than its share).

        Raises NotPermitted, Conflict, InvalidInput.
        """
        content = {
            "description": description,
            "labels": dict(labels or {}),
            "agents": list(agents),
            "projects": None if projects is None else list(projects),
            "preemption": preemption,
        }
        return await self._send(administration.calls.create_pool(name, content), tries=0)

    async def change_pool(self, name: str, changes: Mapping[str, object]) -> Pool:
        """Change a pool: `changes` has values by the names of arguments of `create_pool`.

        Raises NotFound, NotPermitted, InvalidInput.
        """
        return await self._send(administration.calls.change_pool(name, changes))

    async def delete_pool(self, name: str) -> None:
        """Delete a pool for which no job asks. Raises NotFound, NotPermitted, Conflict."""
        await self._send(administration.calls.delete_pool(name))

    async def reservations(self) -> list[Reservation]:
        """Return the reservations that are not over, in the order of their beginning."""
        return await self._send(administration.calls.reservations())

    async def reserve(
        self,
        pool: str,
        project: str,
        agents: int,
        *,
        starts_at: datetime | None = None,
        ends_at: datetime,
    ) -> Reservation:
        """Let so many workers of a pool run only the jobs of one project for a while.

        It begins now unless `starts_at` is given; times without a zone are local. Raises
        NotFound, NotPermitted, InvalidInput.
        """
        begin = None if starts_at is None else sent_text(starts_at)
        times = {"starts_at": begin, "ends_at": sent_text(ends_at)}
        call = administration.calls.reserve(pool, {"project": project, "agents": agents, **times})
        return await self._send(call, tries=0)

    async def end_reservation(self, reservation_id: str) -> None:
        """End a reservation at once. Raises NotFound, NotPermitted."""
        await self._send(administration.calls.end_reservation(reservation_id))

    async def users(self) -> list[User]:
        """Return all people and service accounts. Raises NotPermitted."""
        return await self._send(administration.calls.users())

    async def user(self, name: str) -> User:
        """Return a person or a service account. Raises NotFound, NotPermitted."""
        return await self._send(administration.calls.user(name))

    async def create_user(self, name: str, full_name: str = "", *, is_admin: bool = False) -> User:
        """Add a person; `create_token` with `user` makes a token. Raises NotPermitted, Conflict."""
        return await self._send(
            administration.calls.create_user(name, full_name, is_admin), tries=0
        )

    async def change_user(
        self,
        name: str,
        *,
        full_name: str | None = None,
        is_admin: bool | None = None,
        is_disabled: bool | None = None,
        subject: str | None = None,
    ) -> User:
        """Change a person or service account; the tokens of a disabled one are refused at once.

        `subject` is who the person is at the provider with which people sign in.

        Raises NotFound, NotPermitted, and Conflict for the last administrator.
        """
        call = administration.calls.change_user(
            name,
            full_name=full_name,
            is_admin=is_admin,
            is_disabled=is_disabled,
            subject=subject,
        )
        return await self._send(call)

    async def tokens(self) -> list[Token]:
        """Return the tokens that were created and not revoked, without their secrets."""
        return await self._send(administration.calls.tokens())

    async def change_token(self, token_id: str, *, submit_code: bool) -> Token:
        """Give a user's token the right to submit programs and custom ops, or take it, at once.

        Only the owner's token can do so. Raises NotFound, and InvalidInput for another role.
        """
        return await self._send(administration.calls.change_token(token_id, submit_code))

    async def revoke_token(self, token_id: str) -> None:
        """Revoke a token: the service refuses it at once. Raises NotFound."""
        await self._send(administration.calls.revoke_token(token_id))

    async def sessions(self) -> list[BrowserSession]:
        """Return the sessions of the token's owner in all browsers, the latest first."""
        return await self._send(administration.calls.sessions())

    async def end_sessions(self, session_id: str | None = None) -> None:
        """End one session of the token's owner at once, or all of them. Raises NotFound."""
        await self._send(administration.calls.end_sessions(session_id))

    async def create_sign_in_code(self) -> str:
        """Create a code that signs one browser in, once, within ten minutes.

        Open `/login#code=CODE` of the service with it. The browser may do what this client may.
        """
        # Not retried: a lost response would leave an unknown code behind.
        return await self._send(administration.calls.create_sign_in_code(), tries=0)

    async def create_webhook(
        self,
        url: str,
        name: str = "",
        *,
        format: str | None = None,
        types: Sequence[str] | None = None,
    ) -> Webhook:
        """Send a message to a URL, or to a `mailto:` address, when a job ends.

        Only the owner's token can create one, for hosts that the operator lists. `format` is
        standard, slack, mattermost, matrix or mail; `types` are job.succeeded, job.failed and
        job.cancelled. The `secret` is returned only here. Raises InvalidInput, NotPermitted.
        """
        # Not retried: a lost response would leave a webhook without a known secret behind.
        return await self._send(
            administration.calls.create_webhook(url, name, format, types), tries=0
        )

    async def webhooks(self) -> list[Webhook]:
        """Return all webhooks, the newest first, without their secrets."""
        return await self._send(administration.calls.webhooks())

    async def deliveries(self, webhook_id: str) -> list[Delivery]:
        """Return the latest messages to a webhook, the newest first. Raises NotFound."""
        return await self._send(administration.calls.deliveries(webhook_id))

    async def check_webhook(self, webhook_id: str) -> Webhook:
        """Send a test to a webhook; one that was off is on then. Raises NotFound."""
        return await self._send(administration.calls.check_webhook(webhook_id))

    async def delete_webhook(self, webhook_id: str) -> None:
        """Delete a webhook, with the messages that wait for it. Raises NotFound."""
        await self._send(administration.calls.delete_webhook(webhook_id))
