"""The route that makes a spec and initial weights of a NIR file."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from ipulse.spec.nir_document import name_from
from ipulse_core.limits import MAX_NIR_BYTES
from ipulse_service.datasets import network_import
from ipulse_service.http import log_context as log
from ipulse_service.http import payloads, problems
from ipulse_service.http.caller import Caller
from ipulse_service.http.dependencies import CurrentCaller, State
from ipulse_service.http.files import receiving
from ipulse_service.http.problems import TooLarge
from ipulse_service.http.schemas.data.network_imports import ImportedNetwork, NirQuery
from ipulse_service.http.state import AppState

_KNOWN: dict[int | str, dict[str, Any]] = {
    **problems.documented(409, 413),
    422: {
        "content": {
            problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/NirProblem"}},
        },
        "description": "The file cannot be imported (`nir_invalid`, `invalid_spec`), or does not "
        "tell what its neurons do: `nir_ambiguous`, with `choices`.",
    },
}

router = APIRouter(prefix="/v1", tags=["data"])


@router.post(
    "/networks:import",
    response_model=ImportedNetwork,
    summary="Import a NIR file",
    response_description="The spec, and the weights that it names.",
    responses=_KNOWN,
    openapi_extra=receiving.BODY,
)
async def import_network(
    query: Annotated[NirQuery, Query()], state: State, caller: CurrentCaller, request: Request
) -> Response:
    """Makes a spec and initial weights of a network in a NIR file, the body.

    The weights are an upload, as those of `ipulse submit --weights`; the file itself is not kept.
    """
    threads = state.file_threads
    limit = min(MAX_NIR_BYTES, state.settings.max_dataset_bytes)
    async with payloads.stream(request) as chunks:
        await run_in_threadpool(network_import.check_may_import, state.database, caller.name)
        _check_size(int(request.headers.get("content-length", 0)), limit)
        file = await threads.run(state.blobs.receive)
        try:
            await receiving.append(file, _bounded(chunks, limit), limit, threads, "/body")
            content = await state.reader.in_turn(
                caller.name, _imported, state, caller, file.path, query
            )
        finally:
            await threads.run(file.close)
    return Response(content, media_type="application/json")


def _imported(state: AppState, caller: Caller, path: pathlib.Path, query: NirQuery) -> bytes:
    name = name_from(query.name)
    importer = state.network_importer
    found = importer.run(state.database, caller.name, path, name, query.flags())
    log.bind(upload=found.weights.id)
    return ImportedNetwork.of(found).model_dump_json().encode()


async def _bounded(chunks: AsyncGenerator[bytes], limit: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        _check_size(size, limit)
        yield chunk


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge((), f"a NIR file may have {limit:,} bytes: use `ipulse nir import`")
