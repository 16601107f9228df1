"""Is the process alive, and can work flow through it?"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from sqlalchemy import select

from ipulse.errors import Unavailable
from service import problems
from service.parts import Parts, PartsOf
from service.tables import jobs

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="The process answers")
async def alive() -> JSONResponse:
    return JSONResponse({"status": "ok"})


@router.get("/readyz", summary="Database, artifact store and broker answer")
def ready(parts: PartsOf) -> JSONResponse:
    checks = {
        "database": _database_answers(parts),
        "artifact_store": parts.blobs.is_writable(),
        "dispatcher": parts.dispatcher.is_alive,
        "broker": parts.dispatcher.broker_answers,
    }
    missing = [name for name, fine in checks.items() if not fine]
    if not missing:
        return JSONResponse({"status": "ok", "checks": checks})
    detail = f"not available now: {', '.join(missing)}"
    headers = {"retry-after": str(problems.RETRY_SECONDS)}
    return problems.document("/readyz", 503, "unavailable", detail, headers=headers)


def _database_answers(parts: Parts) -> bool:
    try:
        with parts.database.read() as transaction:
            transaction.connection.execute(select(jobs.c.pk).limit(1))
    except Unavailable:
        return False
    return True
