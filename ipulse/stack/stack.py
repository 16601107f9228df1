"""The local stack: Redis, the service and its agents as child processes on one machine.

    with Stack(home) as stack:
        print(stack.url, stack.token_path)

The children end with the process that started them, even if it is killed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, urlsplit

from ipulse.install_hint import require_modules
from ipulse.stack.agent_process import AgentProcess, starting_agents
from ipulse.stack.guarded_process import GuardedProcess
from ipulse.stack.home import Home
from ipulse.stack.managed_process import inherited_environment
from ipulse.stack.redis_server import RedisServer
from ipulse.stack.service_process import ServiceProcess
from ipulse.stack.supervisor import Part, Say, supervise
from ipulse_core.errors import Unavailable

AGENT_STOP_SECONDS = 20.0  # a runner's grace period, its last uploads and a margin
SERVICE_STOP_SECONDS = 15.0
AGENT_NICE = "10"  # the service stays responsive while jobs train
# The service and the agent, each with its main dependency.
_REQUIRED = ("ipulse_service", "uvicorn", "ipulse_worker", "celery")


class Stack:
    """A local stack; start it with `start` or `with`. A home has one stack at a time."""

    def __init__(
        self,
        home: str | os.PathLike[str],
        host: str = "127.0.0.1",
        port: int = 0,
        agents: int = 1,
        allow_remote: bool = False,
        environment: Mapping[str, str] | None = None,
        certificate: tuple[Path, Path] | None = None,
        database_url: str = "",
    ) -> None:
        """Prepare a stack.

        Args:
            home: The folder of its state.
            host: The address to listen on.
            port: The port; 0 chooses a free one.
            agents: The number of agents; 0 if all agents are on other machines.
            allow_remote: Whether to accept other machines without encryption.
            environment: Variables in addition to the inherited ones.
            certificate: The files of a certificate and its key, for TLS.
            database_url: A database to use instead of SQLite in the home.

        Raises MissingDependency if the service, the agent or a Redis server is not installed.
        """
        require_modules(_REQUIRED, "a local stack")
        self._home = Home(Path(home))
        self._host = host
        self._port = port
        self._allow_remote = allow_remote
        self._more = dict(environment or {})
        self._certificate = certificate
        database = quote(str(self._home.path / "ipulse.db"))
        self._database_url = database_url or f"sqlite:///{database}"
        self._redis = RedisServer(self._home.redis, self._home.log("redis"))
        self._service = ServiceProcess(self._home)
        names = ["agent", *(f"agent-{number}" for number in range(2, agents + 1))][:agents]
        self._agents = [AgentProcess(name, self._home) for name in names]
        self._url = ""

    @property
    def url(self) -> str:
        """The address of the service on this machine."""
        if not self._url:
            raise Unavailable("the stack is not running: call start() first")
        return self._url

    @property
    def home(self) -> Path:
        """The folder of the stack's state."""
        return self._home.path

    @property
    def token_path(self) -> Path:
        """The file with the user's token."""
        return self._home.token_file

    @property
    def certificate_path(self) -> Path | None:
        """The file with the certificate of the service, if it uses TLS."""
        return self._home.certificate_file if self._certificate else None

    @property
    def broker_socket(self) -> Path:
        """The socket of the embedded Redis."""
        return self._redis.socket

    @property
    def processes(self) -> dict[str, GuardedProcess]:
        """The running processes by name: redis, service, agent, agent-2, ..."""
        processes = {"redis": self._redis.process}
        processes.update({part.name: part.process for part in (self._service, *self._agents)})
        return {name: process for name, process in processes.items() if process is not None}

    def start(self) -> None:
        """Start everything; return once the service is ready and every agent waits for jobs.

        Raises Conflict if the home is in use, and Unavailable, with the end of a log, if a process
        does not start. Nothing is left running then.
        """
        self._home.open()
        try:
            self._home.keep_certificate(self._certificate and self._certificate[0])
            self._redis.start()
            self._start_service()
            with starting_agents(self._agents, self._agent_environment):
                self._service.await_ready(self._url)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the agents, then the service, then Redis, so that last messages arrive."""
        for agent in self._agents:
            agent.terminate()
        for agent in self._agents:
            agent.end_within(AGENT_STOP_SECONDS)
        self._service.stop(SERVICE_STOP_SECONDS)
        self._redis.stop()
        self._url = ""
        self._home.close()

    def wait(self, say: Say = lambda _sentence: None) -> None:
        """Wait for SIGINT or SIGTERM, and restart the processes that end meanwhile.

        `say` receives a sentence for each of them. Only the main thread can call this.
        """
        supervise(self._supervised_parts(), say)

    @contextmanager
    def more_agent(self, name: str, variables: Mapping[str, str]) -> Iterator[AgentProcess]:
        """Run one more agent, with these variables in addition, while the context is open."""
        agent = AgentProcess(name, self._home)
        try:
            environment = {**self._agent_environment(agent), **variables}
            with starting_agents([agent], lambda _: environment):
                pass
            yield agent
        finally:
            agent.stop(AGENT_STOP_SECONDS)

    def restart_agent(self, number: int = 1) -> None:
        """Restart the agent of this number, whether or not it still runs."""
        agent = self._agents[number - 1]
        agent.stop(AGENT_STOP_SECONDS)
        with starting_agents([agent], self._agent_environment):
            pass

    def restart_service(self) -> None:
        """Restart the service at the same address, whether or not it still runs."""
        self._relaunch_service(SERVICE_STOP_SECONDS)
        self._service.await_ready(self._url)

    def restart_redis(self, forget: bool = False) -> None:
        """Restart Redis on the same socket, whether or not it still runs.

        With `forget` its stored data are removed.
        """
        self._redis.stop()
        if forget:
            shutil.rmtree(self._home.redis)
        self._redis.start()

    def __enter__(self) -> Stack:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def service_environment(self, **other: str) -> dict[str, str]:
        """Return the environment of the service; other values are for a second service."""
        variables = {
            "IPULSE_HOME": str(self._home.path),
            "IPULSE_HOST": self._host,
            "IPULSE_PORT": str(self._port),
            "IPULSE_DATABASE_URL": self._database_url,
            "IPULSE_BROKER_URL": self._redis.url,
            "IPULSE_ARTIFACTS_DIR": str(self._home.artifacts),
            "IPULSE_TOKEN_FILE": str(self._home.token_file),
            "IPULSE_AGENT_KEY_FILE": str(self._home.agent_key_file),
            **({"IPULSE_ALLOW_REMOTE": "1"} if self._allow_remote else {}),
        }
        if self._certificate:
            certificate, key = self._certificate
            variables.update(IPULSE_TLS_CERTIFICATE=str(certificate), IPULSE_TLS_KEY=str(key))
        return self._environment(**{**variables, **other})

    def _supervised_parts(self) -> list[Part]:
        """Return the parts, with restarts that do not wait until the part is ready."""

        def restart_of(agent: AgentProcess) -> Callable[[], None]:
            return lambda: agent.relaunch(self._agent_environment(agent))

        return [
            Part(self._redis, self._redis.relaunch),
            Part(self._service, lambda: self._relaunch_service(0)),
            *(Part(agent, restart_of(agent)) for agent in self._agents),
        ]

    def _relaunch_service(self, stop_seconds: float) -> None:
        self._port = urlsplit(self.url).port or 0
        self._service.stop(stop_seconds)
        self._start_service()

    def _start_service(self) -> None:
        environment = self.service_environment()
        self._url = self._service.start_listening(self._host, self._port, environment)

    def _agent_environment(self, agent: AgentProcess) -> dict[str, str]:
        return self._environment(
            IPULSE_SERVICE_URL=self.url,
            IPULSE_WORKER_TOKEN_FILE=str(self._home.agent_token_file(agent.name)),
            IPULSE_BROKER_URL=self._redis.url,
            IPULSE_WORK_DIR=str(self._home.work),
            IPULSE_DEVICES=str(self._home.devices),
            IPULSE_NICE=os.environ.get("IPULSE_NICE", AGENT_NICE),
            **({"IPULSE_PINNED": str(self._home.certificate_file)} if self._certificate else {}),
        )

    def _environment(self, **own: str) -> dict[str, str]:
        return {**inherited_environment(), **self._more, **own}
