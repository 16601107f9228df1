"""Its interface: SHIM_QUEUE names the module of the queue behind it.

uvicorn benchmarks.load.shim.api:api
"""

from __future__ import annotations

import importlib
import os
import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse

from benchmarks.load.shim import rows

queue = importlib.import_module(f"benchmarks.load.shim.{os.environ['SHIM_QUEUE']}_queue")
api = FastAPI()


@api.post("/jobs", status_code=201)
def submit(order: Annotated[str, Body()]) -> dict[str, str]:
    job = uuid.uuid4().hex
    rows.add(job, order)
    queue.enqueue(job)
    return {"id": job, "state": "queued"}


@api.get("/jobs/{job}")
def status(job: str) -> dict[str, Any]:
    found = rows.select("where id=?", job)
    if not found:
        raise HTTPException(404)
    return found[0]


@api.get("/jobs")
def page(limit: int = 100, before: int = 2**62) -> list[dict[str, Any]]:
    return rows.select("where seq<? order by seq desc limit ?", before, min(limit, 200))


@api.get("/jobs/{job}/log")
def log(job: str) -> FileResponse:
    return FileResponse(rows.log_of(job), media_type="text/plain")


@api.get("/file")
def file() -> FileResponse:
    return FileResponse(rows.HOME / "file")


@api.put("/file", status_code=201)
async def keep(request: Request) -> None:
    """Neither checked nor synced."""
    pieces: AsyncIterator[bytes] = request.stream()
    with (rows.HOME / "file").open("wb") as kept:
        async for piece in pieces:
            kept.write(piece)
