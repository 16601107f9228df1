"""A reader who follows the pages: runs their shell blocks against a stack started as they say."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ipulse.client import Connection, JobHandle
from ipulse_core.sandbox.bubblewrap import SandboxUnavailable, require_bubblewrap
from ipulse_core.states import JobState

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
OLDER = ROOT / ".venv38" / "bin" / "python"  # a runner with its TensorFlow starts in half the time
SECONDS = 300  # until a command that does not end is given up
# Commands that run until Ctrl-C.
STACK = re.compile(r"^(make|ipulse) up\b.*$", re.M)
AGENT = re.compile(r"^python -m ipulse_worker\.agent$", re.M)
FIRST_ID = "import json, sys; print(json.load(sys.stdin)['tokens'][0]['id'])"
TOKEN_ID = f'$(ipulse token list --json | python -c "{FIRST_ID}")'
HOME = re.compile(r"(?<!\$)\bHOME/")
STATE = "$HOME/.local/state/ipulse"
LONG_SPEC = {"version": 1, "network": {"layers": [{"neurons": 8}]}, "training": {"epochs": 10_000}}


class Reader:
    """A reader with a home directory, a checkout and a port of their own."""

    def __init__(self, home: Path, programs: Path = PROGRAMS) -> None:
        """Prepare a checkout with the examples, in which the demo's training is short.

        With the programs of another environment nothing is taken from this checkout, and the
        training is as long as the reader's.
        """
        self.is_apart = programs != PROGRAMS
        self.folder = home / "checkout"
        self.folder.mkdir(parents=True)
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        digits = self.folder / "examples" / "digits.yaml"
        if not self.is_apart:
            digits.write_text(digits.read_text().replace("epochs: 20", "epochs: 1"))
        shutil.copy(digits, self.folder / "mine.yaml")  # the copy of tutorial/3-change.md
        (self.folder / "DIR").mkdir()  # stands for a directory that the reader chooses
        (self.folder / ".venv").symlink_to(programs.parent)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.environment = {
            "HOME": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "IPULSE_NICE": "0",
            "IPULSE_PORT": self.port,
        }
        if not self.is_apart:
            cache = os.environ.get("IPULSE_CACHE", f"{Path.home()}/.cache/ipulse")
            self.environment["IPULSE_CACHE"] = cache
        if OLDER.exists() and not self.is_apart:
            self.environment["IPULSE_RUNNER_PYTHON"] = str(OLDER)
        self.banner = ""  # what the stack printed when it was ready
        self._command = ""
        self._stack: subprocess.Popen[str] | None = None

    @staticmethod
    def has_sandbox() -> bool:
        """Return whether programs of users can run here."""
        try:
            require_bubblewrap()
        except SandboxUnavailable:
            return False
        return True

    def read(self, block: str, folder: object = None) -> str:
        """Run a block and return what it printed; `folder` is what Python code called so.

        Raises AssertionError if a command fails or prints a traceback.
        """
        served = STACK.search(block)
        if served:
            block = STACK.sub("", block, count=1)
            self.start(served[0].replace("FOLDER", str(folder)))
        if AGENT.search(block):
            self._run_agent(self._filled_in(block))
        elif block.strip():
            return self._run(self._filled_in(block))
        return self.banner

    def start(self, command: str = "make up") -> None:
        """Start the stack with this command, unless that is how it runs; another one is stopped."""
        if self._stack is None or self._command != command:
            self.stop()
            # In the reader's checkout make would set up another environment.
            make = "exec ipulse" if self.is_apart else f"exec make -C {ROOT}"
            line = command.replace("make", make)
            self._stack = self._spawn(line)
            self._command = command
            printed = ""
            assert self._stack.stdout is not None
            for text in self._stack.stdout:
                printed += text
                if "Ctrl-C" in text:
                    self.banner = printed
                    return
            raise AssertionError(f"{command} ended:\n{printed}")

    def stop(self) -> None:
        """Stop the stack with Ctrl-C, if it runs."""
        if self._stack is not None:
            os.killpg(self._stack.pid, signal.SIGINT)
            _check(self._stack.communicate(timeout=SECONDS)[0])
            self._stack = None

    def leave_page(self) -> None:
        """Cancel the jobs that still run."""
        if self._stack is not None and self._command == "make up":
            with self.client() as client:
                for job in client.jobs():
                    if not job.state.is_terminal:
                        client.job(job.id).cancel()

    def client(self) -> Connection:
        """Return a client for the reader's service."""
        return Connection(home=self.environment["HOME"] + "/.local/state/ipulse")

    def _filled_in(self, block: str) -> str:
        """Replace what the pages write in capitals, and the usual port by ours."""
        if HOME.search(block):
            self.start()  # which makes it
        block = HOME.sub(f"{STATE}/", block.replace("8470", self.port))
        if re.search(r"\bID\b", block):
            self.start()
            block = self._with_ids(block)
        return re.sub(r"\bTOKEN_ID\b", TOKEN_ID, block)

    def _with_ids(self, block: str) -> str:
        with self.client() as client:
            if "stop" in block:
                job = self._running(client)
            elif "pause" in block:
                job = client.submit(LONG_SPEC)
                next(event for event in job.watch() if event.fields.get("state") == "running")
            else:
                digits = self.folder / "examples" / "digits.yaml"
                ended = next(iter(client.jobs(state="succeeded")), None)
                job = ended or client.submit(digits).wait(check=False)
            files = {file.name: file.id for file in job.artifacts()}
        block = re.sub(r"\bID\b", job.id, block)
        return block.replace("ARTIFACT_ID", files.get("report.html", "none"))

    def _running(self, client: Connection) -> JobHandle:
        """Return a job that runs: one that the page has begun, or a new one."""
        waits = (JobState.PAUSING, JobState.PAUSED)
        begun = (job for job in client.jobs() if not (job.state.is_terminal or job.state in waits))
        job = next(begun, None) or client.submit(LONG_SPEC)
        end = time.monotonic() + SECONDS
        while job.refresh().state is not JobState.RUNNING:
            assert time.monotonic() < end, f"{job.id} is {job.state.value} after {SECONDS} s"
            time.sleep(0.2)
        return job

    def _spawn(self, line: str, pass_fds: Sequence[int] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=pass_fds,
        )

    def _run(self, block: str) -> str:
        process = self._spawn(block)
        try:
            output, _ = process.communicate(timeout=SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode == 0, f"exit status {process.returncode}:\n{output}"
        _check(output)
        return output

    def _run_agent(self, block: str) -> None:
        """Start an agent, wait until it is ready for jobs and stop it with Ctrl-C."""
        self.start()
        ready, write = os.pipe()
        process = self._spawn(f"export IPULSE_READY_FD={write}\n{block}", pass_fds=[write])
        os.close(write)
        with open(ready) as ready_file:
            line = ready_file.readline()
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=SECONDS)
        assert line == "ready\n", output
        # Celery's exit code after Ctrl-C is 1.
        assert "agent_stopped" in output, output
        _check(output)


def _check(output: str) -> None:
    assert "Traceback" not in output, output
