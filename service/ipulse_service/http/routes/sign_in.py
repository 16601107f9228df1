"""Routes by which people sign in with an OpenID Connect provider, in the browser."""

from __future__ import annotations

import logging
import re
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from ipulse_core.errors import Unavailable
from ipulse_service.db import people, tokens, web_sessions
from ipulse_service.db.access import ALL_SCOPES, Access, ProjectRole
from ipulse_service.db.engine import Transaction
from ipulse_service.db.web_sessions import SignedIn
from ipulse_service.http import cookies, problems
from ipulse_service.http.dependencies import State
from ipulse_service.http.oidc import LOGIN_SECONDS, Identity, SignInRefused
from ipulse_service.http.schemas.sessions import SignInMethods
from ipulse_service.http.server.proxies import address_of
from ipulse_service.http.state import AppState
from ipulse_service.settings import Settings

SECONDS = 12 * 3600  # that one stays signed in
TOKEN_NAME = "sign-in"  # noqa: S105 - the name of the token behind such a session
_TO = re.compile(r"/(?![/\\])[^\x00-\x20\\]*")  # a path of this page, of no other host

_log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/auth", tags=["sessions"])


@router.get("", summary="List ways to sign in", response_description="The ways.")
def list_sign_in_methods(state: State) -> SignInMethods:
    """Returns how people sign in to the page. It needs no token."""
    return SignInMethods(issuer=state.oidc.issuer or None)


@router.get(
    "/login",
    status_code=303,
    response_class=Response,
    summary="Sign in with the provider",
    response_description="The browser goes to the provider.",
    responses=problems.documented(404),
)
def begin_sign_in(
    request: Request,
    state: State,
    to: Annotated[str, Query(max_length=2000, description="A path of the page.")] = "/jobs",
) -> RedirectResponse:
    """Sends the browser to the provider of the operator. It needs no token."""
    if not state.oidc.issuer:
        return _refused("none")
    try:
        address, text = state.oidc.begin(
            _redirect_uri(request), to if _TO.fullmatch(to) else "/jobs"
        )
    except Unavailable:
        return _refused("unavailable")
    response = RedirectResponse(address, 303)
    cookies.write_login(request.scope, response, text, LOGIN_SECONDS)
    return response


@router.get(
    "/callback",
    status_code=303,
    response_class=Response,
    summary="Come back from the provider",
    response_description="The browser goes to the page, signed in or with the reason why not.",
)
def finish_sign_in(
    request: Request,
    state: State,
    code: Annotated[str, Query(max_length=4096, description="Of the provider.")] = "",
    login: Annotated[
        str, Query(alias="state", max_length=256, description="As it was sent there.")
    ] = "",
) -> RedirectResponse:
    """Signs in who comes back from the provider, with a session's cookie."""
    if not (state.oidc.issuer and code):
        return _refused("provider" if state.oidc.issuer else "none")
    try:
        identity, to = state.oidc.finish(
            cookies.read_login(request.scope), login, code, _redirect_uri(request)
        )
        text = _signed_in(state, identity)
    except SignInRefused as error:
        return _refused(str(error))
    except Unavailable:
        return _refused("unavailable")
    response = RedirectResponse(to, 303)
    cookies.write(request.scope, response, text, SECONDS)
    cookies.write_login(request.scope, response, "", 0)
    return response


def _signed_in(state: AppState, identity: Identity) -> str:
    """Returns the text of a new session. Raises SignInRefused."""
    settings = state.settings
    domains = settings.oidc_allowed_domains
    if domains and identity.email.rpartition("@")[2].lower() not in domains:
        raise SignInRefused("domain")
    with state.database.read() as transaction:
        person = people.find_subject(transaction, identity.issuer, identity.subject)
    if person is None:
        if not settings.oidc_signup:
            raise SignInRefused(f"unknown:{identity.subject}")
        with state.database.acting_for(Access("sign-in")).write() as transaction:
            person = people.add_subject(
                transaction, identity.issuer, identity.subject, identity.handle, identity.full_name
            )
    if person.is_disabled:
        raise SignInRefused("disabled")
    # The session stands for a token of the person, so that both end together.
    with state.database.acting_for(Access(person.name)).write() as transaction:
        _set_group_roles(transaction, settings, person.name, identity)
        tokens.forget_old(transaction, person.name, TOKEN_NAME)
        token, _ = tokens.issue(
            transaction, TOKEN_NAME, "user", SECONDS, principal=person.name, scopes=ALL_SCOPES
        )
        session, text = web_sessions.issue(
            transaction, "session", SignedIn(person.name, "user", token.id)
        )
        transaction.audit("session.start", session.id, None, identity.issuer)
    return text


def _set_group_roles(
    transaction: Transaction, settings: Settings, name: str, identity: Identity
) -> None:
    """Gives a person the roles of its groups, the highest of several in a project."""
    roles: dict[str, ProjectRole] = {}
    for item in settings.oidc_group_roles:
        group, _, given = item.rpartition("=")
        project, _, role_name = given.partition(":")
        role = ProjectRole(role_name)
        if group in identity.groups and role.includes(roles.get(project, role)):
            roles[project] = role
    seconds = settings.oidc_group_days * 86_400
    for project in people.set_group_roles(transaction, name, roles, seconds):
        _log.warning("oidc_group_of_unknown_project", extra={"project": project})


def _redirect_uri(request: Request) -> str:
    return address_of(request, "/v1/auth/callback")


def _refused(why: str) -> RedirectResponse:
    reason, _, subject = why.partition(":")
    query = {"why": reason, **({"subject": subject} if subject else {})}
    return RedirectResponse(f"/login?{urlencode(query, quote_via=quote)}", 303)
