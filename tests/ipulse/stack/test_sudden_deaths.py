"""Whatever happens to the starter or to the guardian, no process stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from ipulse.stack.guarded_process import GuardedProcess

from .guarded import DAEMONISER, DEADLINE, Watched


class TestSudden:
    def test_death_of_the_starter_ends_the_whole_tree(self) -> None:
        starter = subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(
                    f"""
                    import subprocess, sys, time
                    from pathlib import Path
                    from ipulse.stack.guarded_process import GuardedProcess
                    process = GuardedProcess(
                        [sys.executable, "-c", {DAEMONISER + "time.sleep(600)"!r}],
                        environment={{}}, directory=Path("/"), stdout=subprocess.PIPE,
                    )
                    print(process.pid, process.stdout.readline().decode(), flush=True)
                    time.sleep(600)
                    """
                ),
            ],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        assert starter.stdout is not None
        program, descendant = map(Watched, map(int, starter.stdout.readline().split()))
        starter.kill()
        starter.wait(DEADLINE)
        starter.stdout.close()
        assert program.ends()
        assert descendant.ends()

    def test_death_of_the_starter_ends_a_guardian_that_waits(self) -> None:
        starter = subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(
                    """
                    import psutil, time
                    from pathlib import Path
                    from ipulse.stack.guarded_process import GuardedProcess
                    process = GuardedProcess(
                        ["true"], environment={}, directory=Path("/"), waits=True
                    )
                    print(*[child.pid for child in psutil.Process().children()], flush=True)
                    time.sleep(600)
                    """
                ),
            ],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        assert starter.stdout is not None
        guardian = Watched(int(starter.stdout.readline()))
        starter.kill()
        starter.wait(DEADLINE)
        starter.stdout.close()
        assert guardian.ends()

    def test_death_of_the_guardian_ends_the_program(self, sleeper: GuardedProcess) -> None:
        program = Watched(sleeper.pid)
        os.kill(parent_of(sleeper.pid), signal.SIGKILL)
        assert program.ends()
        assert sleeper.wait(DEADLINE) == -signal.SIGKILL


def parent_of(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])
