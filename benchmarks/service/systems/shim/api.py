"""The HTTP API: `uvicorn benchmarks.service.systems.shim.api:api`."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse

from benchmarks.service.systems.shim import rows
from benchmarks.service.systems.shim.celery_queue import run

api = FastAPI()


@api.post("/jobs", status_code=201)
def submit(order: Annotated[str, Body()]) -> dict[str, str]:
    """Store the row, then send the message."""
    job = uuid.uuid4().hex
    rows.add(job, order)
    run.delay(job)
    return {"id": job, "state": "queued"}


@api.get("/jobs/{job}")
def status(job: str) -> dict[str, Any]:
    """Return one job."""
    found = rows.select("where id=?", job)
    if not found:
        raise HTTPException(404)
    return found[0]


@api.get("/jobs")
def page(limit: int = 100, before: int = 2**62) -> list[dict[str, Any]]:
    """Return the newest jobs."""
    return rows.select("where seq<? order by seq desc limit ?", before, min(limit, 200))


@api.get("/file")
def download() -> FileResponse:
    """Return the stored file."""
    return FileResponse(rows.HOME / "file")


@api.put("/file", status_code=201)
async def upload(request: Request) -> None:
    """Store a file, neither checked nor synced."""
    with (rows.HOME / "file").open("wb") as file:
        async for piece in request.stream():
            file.write(piece)
