"""Assembles the application from its parts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI
from starlette.concurrency import run_in_threadpool

from ipulse.key_file import key_in
from ipulse_core.version import version
from ipulse_service.agents import hints, neuron_packages
from ipulse_service.background.change_poller import ChangePoller
from ipulse_service.background.dataset_checker import DatasetChecker
from ipulse_service.background.housekeeping import Housekeeper
from ipulse_service.background.news_sender import NewsSender
from ipulse_service.background.publisher import Publisher
from ipulse_service.background.reaper import Reaper
from ipulse_service.background.sandbox_prober import SandboxProber
from ipulse_service.background.sweep_controller import SweepController
from ipulse_service.datasets.network_import import NetworkImporter
from ipulse_service.db import migrations
from ipulse_service.db.engine import DAY_MS, Database
from ipulse_service.db.shared_reads import SharedReads
from ipulse_service.db.sqlite import refuse_moved
from ipulse_service.files import stored
from ipulse_service.files.file_thread_pool import FileThreadPool
from ipulse_service.http import methods, problems, web
from ipulse_service.http.auth import AuthenticationMiddleware, Tokens, permit
from ipulse_service.http.denials import Denials
from ipulse_service.http.dependencies import in_turn_of_caller
from ipulse_service.http.metrics import Metrics
from ipulse_service.http.oidc import OpenIDClient
from ipulse_service.http.openapi import Application
from ipulse_service.http.page_host import page_host
from ipulse_service.http.readiness import Readiness
from ipulse_service.http.routes import (
    audit,
    device_codes,
    health,
    metrics,
    people,
    quotas,
    sessions,
    sign_in,
    tokens,
    webhooks,
)
from ipulse_service.http.routes.agents import (
    agents,
    attempts,
    join_tokens,
    joining,
    pools,
    uploads,
    worker,
)
from ipulse_service.http.routes.data import (
    attempt_dataset,
    dataset_versions,
    datasets,
    network_imports,
    ops,
    user_uploads,
)
from ipulse_service.http.routes.jobs import (
    activity,
    artifacts,
    capabilities,
    comparison,
    curves,
    events,
    imports,
    job_batches,
    job_list,
    job_verbs,
    jobs,
    logs,
    profiles,
    search,
    specs,
    submissions,
)
from ipulse_service.http.routes.sweeps import sweep_changes, sweep_plans, sweeps
from ipulse_service.http.server.lanes import HeartbeatMiddleware, LaneMiddleware, Lanes
from ipulse_service.http.server.middleware import ProtocolMiddleware, RequestMiddleware
from ipulse_service.http.server.proxies import ProxyMiddleware
from ipulse_service.http.server.request_rate import RequestRate
from ipulse_service.http.startup import Startup, StartupMiddleware
from ipulse_service.http.state import AppState
from ipulse_service.jobs.change_notifier import JobNotifier
from ipulse_service.jobs.curves.cache import CurveCache
from ipulse_service.jobs.importing.importer import JobImporter
from ipulse_service.jobs.queue.waiting import QueueView
from ipulse_service.reading.isolation import Isolation
from ipulse_service.reading.reader import DocumentReader
from ipulse_service.settings import Settings


def create_app(settings: Settings) -> FastAPI:
    """Returns the application.

    Raises:
        Unavailable: A token file or the database cannot be used.
    """

    def open_all() -> None:
        refuse_moved(database.url)
        migrations.upgrade(database)
        neuron_packages.withdraw(database, settings.neuron_packages)
        blobs.prepare()
        methods.build_routes(app)

    def start_threads() -> None:
        for thread in state.threads:
            thread.start()

    notifier = JobNotifier()
    database = Database(settings.database_url)
    database.usage_half_life_ms = settings.fair_share_days * DAY_MS
    database.listeners.append(notifier.publish)
    database.wake_up_listeners.append(lambda _: notifier.publish([hints.TOPIC]))
    blobs = stored.open_store(settings)
    scratch = settings.artifacts_dir / "checks"
    isolation = Isolation(settings.require_sandbox)
    reader = DocumentReader(scratch, isolation)
    reaper = Reaper(database, settings)
    known_metrics = Metrics(database)
    agent_key = key_in(settings.agent_key_file)
    own_name = page_host(settings, agent_key)
    state = AppState(
        settings=settings,
        tokens=Tokens.read(settings),
        database=database,
        blobs=blobs,
        file_threads=FileThreadPool(),
        reader=reader,
        job_importer=JobImporter(blobs, reader, scratch),
        network_importer=NetworkImporter(blobs, reader, scratch),
        notifier=notifier,
        shared_reads=SharedReads(),
        change_poller=ChangePoller(database, notifier, settings.poll_seconds),
        publisher=Publisher(database, settings),
        reaper=reaper,
        sweep_controller=SweepController(database),
        housekeeper=Housekeeper(database, blobs, settings),
        dataset_checker=DatasetChecker(database, blobs, settings, isolation),
        sandbox_prober=SandboxProber(isolation),
        news_sender=NewsSender(database, settings),
        readiness=Readiness(
            {"database": database.is_writable, "artifact_store": blobs.is_writable}
        ),
        metrics=known_metrics,
        denials=Denials(database),
        page_host=own_name,
        oidc=OpenIDClient(settings, agent_key),
        queue_view=QueueView(settings.rescan_seconds),
        curve_cache=CurveCache(),
        lanes=Lanes(reaper.listening_time, known_metrics),
        startup=Startup(open_all, start_threads),
    )

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with state.lanes.running():
            try:
                await state.startup.begin()
                yield
            finally:
                await state.startup.end()
                state.reader.stop()
                for thread in state.threads if state.startup.is_done else ():
                    await run_in_threadpool(thread.stop)
                database.close()

    app = Application(
        title="IPUlse",
        version=version(),
        description="A remote training service for spiking networks.",
        lifespan=lifespan,
        dependencies=[Depends(permit), Depends(in_turn_of_caller, scope="function")],
        responses=problems.documented(*problems.COMMON),
        docs_url=None,  # web/ serves both pages, without assets of other hosts
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        redirect_slashes=False,
    )
    app.state.services = state
    problems.install(app)
    # The last one added is the outermost.
    app.add_middleware(LaneMiddleware, lanes=state.lanes, max_submissions=settings.max_submissions)
    app.add_middleware(
        AuthenticationMiddleware,
        tokens=state.tokens,
        database=database,
        allowed_hosts=(*settings.allowed_hosts, *([own_name] if own_name else [])),
        max_requests=settings.max_requests,
        rate=RequestRate(settings.requests_per_second, settings.requests_burst),
    )
    app.add_middleware(HeartbeatMiddleware, listening_time=reaper.listening_time)
    app.add_middleware(StartupMiddleware, startup=state.startup)
    app.add_middleware(ProtocolMiddleware)
    app.add_middleware(ProxyMiddleware, trusted_proxies=settings.trusted_proxies)
    app.add_middleware(RequestMiddleware, metrics=state.metrics)
    app.include_router(web.router)
    for module in (
        submissions,
        specs,
        capabilities,
        imports,
        job_batches,
        job_verbs,
        job_list,
        search,
        curves,
        comparison,
        jobs,
        sweeps,
        sweep_changes,
        sweep_plans,
        events,
        activity,
        logs,
        artifacts,
        profiles,
        datasets,
        dataset_versions,
        ops,
        network_imports,
        user_uploads,
        tokens,
        people,
        quotas,
        audit,
        sessions,
        device_codes,
        sign_in,
        webhooks,
        join_tokens,
        agents,
        pools,
        metrics,
        health,
        worker,
        attempts,
        joining,
        uploads,
    ):
        app.include_router(module.router)
    app.include_router(submissions.batch_router)
    app.include_router(attempts.events_router)
    app.include_router(user_uploads.content_router)
    app.include_router(attempt_dataset.router)
    return app
