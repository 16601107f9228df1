"""Routes of custom ops: list, read and delete them. An upload of the purpose `op` adds one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool

from ipulse_service.files import stored
from ipulse_service.http import pagination, problems
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.pagination import PageQuery
from ipulse_service.http.payloads import JSONRoute
from ipulse_service.http.schemas.data.ops import OpInfo, OpList
from ipulse_service.http.state import AppState
from ipulse_service.ops import registry

OpDigest = Annotated[
    str, Path(description="SHA-256 of the op's source package, in 64 hexadecimal digits.")
]

router = APIRouter(prefix="/v1/ops", tags=["data"], route_class=JSONRoute)


@router.get("", summary="List custom ops", response_description="A page of ops.")
def list_ops(state: State, query: Annotated[PageQuery, Query()]) -> OpList:
    """Returns the ops that were pushed, newest first."""
    before = None if query.page_token is None else pagination.decode(query.page_token, "ops")
    with state.database.read() as transaction:
        found = registry.page(transaction, before, query.limit + 1)
        counts = registry.job_counts(transaction, [op.sha256 for op in found])
    has_more = len(found) > query.limit
    token = pagination.encode(found[query.limit].pk, "ops") if has_more else ""
    access = state.database.access
    shown = [OpInfo.from_row(op, access, counts[op.sha256]) for op in found[: query.limit]]
    return OpList(ops=shown, next_page_token=token)


@router.get(
    "/{digest}",
    summary="Get a custom op",
    response_description="The op.",
    responses=problems.documented(404),
)
def get_op(digest: OpDigest, state: State) -> OpInfo:
    """Returns an op with its manifest."""
    with state.database.read() as transaction:
        op = registry.get(transaction, digest)
        jobs = registry.job_counts(transaction, [digest])[digest]
        return OpInfo.from_row(op, transaction.access, jobs)


@router.delete(
    "/{digest}",
    status_code=204,
    summary="Delete a custom op",
    response_description="The op is deleted.",
    responses=problems.documented(404),
)
async def delete_op(digest: OpDigest, state: State, caller: CurrentCaller) -> None:
    """Deletes an op, so that no new job can name it. Jobs that do keep its package."""
    await run_in_threadpool(_remove, state, caller, digest)
    await state.file_threads.run(stored.forget, state.database, state.blobs, digest)


def _remove(state: AppState, caller: Caller, digest: str) -> None:
    with state.database.write() as transaction:
        op = registry.get(transaction, digest)  # 404 before 403
        caller.access.check_submits_code(op.project)
        registry.remove(transaction, digest)
