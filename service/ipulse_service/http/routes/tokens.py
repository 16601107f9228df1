"""Routes that create, list and revoke access tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from ipulse import agent_tokens
from ipulse_core.errors import InvalidInput, NotFound, NotPermitted, Problem
from ipulse_service.db import people, tokens
from ipulse_service.db.access import Access, ProjectRole, Scope
from ipulse_service.db.engine import Transaction
from ipulse_service.db.tokens import IssuedToken
from ipulse_service.http import problems
from ipulse_service.http.auth import open_to
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.tokens import (
    CreatedToken,
    TokenChange,
    TokenInfo,
    TokenList,
    TokenRequest,
)

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], route_class=JSONRoute)

# The role in the project of a service account, and the scopes of its token, by the token's role.
_OF_ACCOUNTS = {
    "user": (ProjectRole.MEMBER, frozenset({Scope.READ, Scope.SUBMIT})),
    "reader": (ProjectRole.VIEWER, frozenset({Scope.READ})),
}


@router.post(
    "",
    status_code=201,
    summary="Create an access token",
    response_description="The token is valid from now on.",
    responses=problems.documented(404, 413, 415, 422),
)
def create_token(request: TokenRequest, state: State, caller: CurrentCaller) -> CreatedToken:
    """Creates an access token that expires after a time.

    With `role` it is the token of a new service account of the project, which is called like the
    token. Without, it is one of the person or service account `user`, by default of the caller.
    """
    with state.database.write() as transaction:
        if request.role == "worker":
            raise InvalidInput([Problem("/role", "unsupported", agent_tokens.JOIN)])
        if request.role is not None:
            role, scopes = _OF_ACCOUNTS[request.role]
            of = request.project or transaction.access.project
            principal = people.add_service_account(transaction, request.name, of, role).name
        else:
            principal = people.check_manages(transaction, request.user or caller.access.name).name
            scopes = caller.access.scopes - {Scope.CODE}
        scopes = _scopes(request, scopes, caller.access)
        project = _project(request, caller.access)
        if Scope.CODE in scopes:
            people.let_submit_code(transaction, principal, project)
        token, text = tokens.issue(
            transaction,
            request.name,
            request.role or ("user" if Scope.SUBMIT in scopes else "reader"),
            request.seconds,
            principal=principal,
            scopes=scopes,
            project=project,
        )
    return CreatedToken(token=text, about=TokenInfo.from_row(token))


@router.get("", summary="List access tokens", response_description="The tokens.")
def list_tokens(state: State) -> TokenList:
    """Returns access tokens without their secrets.

    They are those of the caller and of the service accounts that it maintains; for administrators
    all.
    """
    with state.database.read() as transaction:
        issued = tokens.issued(transaction, people.managed_names(transaction))
    return TokenList(tokens=[TokenInfo.from_row(token) for token in issued])


@router.patch(
    "/{token_id}",
    summary="Change an access token",
    response_description="The token.",
    responses=problems.documented(404, 413, 415, 422),
)
@open_to("owner")
def change_token(
    token_id: Annotated[str, Path(description="The token's id.")],
    request: TokenChange,
    state: State,
) -> TokenInfo:
    """Gives a user's token the right to submit code, or takes it, at once."""
    with state.database.write() as transaction:
        token = tokens.set_submit_code(transaction, token_id, request.submit_code)
    return TokenInfo.from_row(token)


@router.delete(
    "/{token_id}",
    status_code=204,
    summary="Revoke an access token",
    response_description="The token is revoked.",
    responses=problems.documented(404),
)
def revoke_token(
    token_id: Annotated[str, Path(description="The token's id.")],
    state: State,
    caller: CurrentCaller,
) -> None:
    """Revokes an access token at once."""
    with state.database.write() as transaction:
        _managed(transaction, caller, token_id)
        tokens.revoke(transaction, token_id)


def _project(request: TokenRequest, access: Access) -> str | None:
    """Returns the only project of a new token. Raises NotPermitted for more than the caller's."""
    if access.only is not None and request.project not in (None, access.only):
        raise NotPermitted(f"this token is valid in the project {access.only} only")
    return access.only or request.project


def _scopes(request: TokenRequest, usual: frozenset[Scope], access: Access) -> frozenset[Scope]:
    """Returns the scopes of a new token. Raises NotPermitted for more than the caller has."""
    most = usual
    if access.is_admin or access.submits_code:
        most |= {Scope.CODE}
    asked = usual if request.scopes is None else frozenset(map(Scope, request.scopes))
    if request.submit_code:
        asked |= {Scope.CODE}
    if not asked <= most:
        raise NotPermitted(f"this token may carry {', '.join(sorted(most))} at most")
    return asked


def _managed(transaction: Transaction, caller: Caller, token_id: str) -> IssuedToken:
    """Returns a token that the caller may revoke. Raises NotFound for others."""
    token = tokens.get(transaction, token_id)
    if token is not None and not caller.access.is_admin:
        names = people.managed_names(transaction) or ()
        token = token if token.principal in names else None
    if token is None:
        raise NotFound("there is no such token")
    return token
