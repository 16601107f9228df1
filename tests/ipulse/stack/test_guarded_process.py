"""Whatever happens to a program, no process stays behind."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ipulse.stack.guarded_process import GuardedProcess

from .guarded import DAEMONISER, DEADLINE, Watched, line_of, start, start_without_session, waiting


class TestEnd:
    def test_the_exit_code_is_the_programs(self) -> None:
        with start("raise SystemExit(7)") as process:
            assert process.wait(DEADLINE) == 7

    def test_a_signal_is_a_negative_exit_code(self) -> None:
        with start("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)") as process:
            assert process.wait(DEADLINE) == -signal.SIGSEGV

    def test_a_program_that_does_not_exist_is_an_error(self) -> None:
        with pytest.raises(FileNotFoundError, match="no-such-program"):
            GuardedProcess(["no-such-program"], environment={}, directory=Path("/"))

    def test_a_running_program_has_no_exit_code(self, sleeper: GuardedProcess) -> None:
        assert sleeper.poll() is None
        with pytest.raises(TimeoutError):
            sleeper.wait(timeout=0.01)

    def test_its_pipes_end_when_it_ends(self) -> None:
        with start("print('last words')") as process:
            assert process.stdout is not None
            assert process.stdout.read() == b"last words\n"
            process.wait(DEADLINE)

    def test_a_pipe_that_it_closes_ends_while_it_lives_on(self) -> None:
        with start("import os, time; os.close(1); time.sleep(600)") as process:
            assert process.stdout is not None
            assert process.stdout.read() == b""
            assert process.poll() is None


class TestWaiting:
    def test_a_waiting_program_starts_with_additional_variables(self) -> None:
        with waiting("import os; print(os.environ['TOLD'], os.environ['KNOWN'])") as process:
            assert process.pid == 0
            process.start({"TOLD": "now"})
            assert line_of(process) == "now before"
            assert process.wait(DEADLINE) == 0

    def test_a_program_that_is_never_started_leaves_no_process(self) -> None:
        process = waiting("print('started')")
        process.kill()
        process.wait(DEADLINE)
        assert line_of(process) == ""
        with pytest.raises(OSError, match="not started"):
            process.start()

    def test_a_program_without_its_guardian_cannot_start(self) -> None:
        before = set(psutil.Process().children())
        process = waiting("print('started')")
        (guardian,) = set(psutil.Process().children()) - before
        guardian.kill()
        with pytest.raises(OSError, match="not started"):
            process.start()


class TestTerminate:
    def test_the_program_may_tidy_up(self) -> None:
        with start(
            """
            import signal, sys, time
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
            print("up", flush=True)
            time.sleep(600)
            """
        ) as process:
            line_of(process)
            process.terminate()
            assert process.wait(DEADLINE) == 5

    def test_a_program_that_ignores_it_is_killed(self) -> None:
        with start(
            """
            import os, signal
            signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"ignored\\n"))
            print("up", flush=True)
            while True:
                signal.pause()
            """
        ) as process:
            line_of(process)
            process.terminate()
            assert line_of(process) == "ignored"
            process.kill()
            assert process.wait(DEADLINE) == -signal.SIGKILL

    def test_signals_after_the_end_have_no_effect(self, sleeper: GuardedProcess) -> None:
        sleeper.kill()
        sleeper.wait(DEADLINE)
        sleeper.terminate()
        assert sleeper.wait() == -signal.SIGKILL


class TestDescendants:
    def test_processes_in_other_sessions_have_ended_before_the_end_is_reported(self) -> None:
        with start(DAEMONISER + "sys.stdin.read()") as process:
            descendant = Watched(int(line_of(process)))
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(DEADLINE) == 0
            assert not Path(f"/proc/{descendant.pid}").exists()
            assert descendant.ends()

    def test_the_programs_signals_are_as_a_shell_would_set_them(self) -> None:
        with start("import signal; print(open('/proc/self/status').read())") as process:
            assert process.stdout is not None
            status = dict(
                line.split(":", 1)
                for line in process.stdout.read().decode().splitlines()
                if ":" in line
            )
            ignored = int(status["SigIgn"], 16)
            # Python ignores these two for itself, and a run in the background some more; anything
            # else would have come from the guardian.
            own = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
            here = re.search(r"SigIgn:\s*(\w+)", Path("/proc/self/status").read_text())
            assert here is not None
            assert ignored & ~own & ~int(here[1], 16) == 0
            assert int(status["SigBlk"], 16) == 0
            process.wait(DEADLINE)

    def test_the_program_inherits_what_it_was_given_and_nothing_else(self) -> None:
        read, write = os.pipe()
        with start(
            "import os; print(*sorted(int(n) for n in os.listdir('/proc/self/fd')))",
            pass_fds=(write,),
        ) as process:
            os.close(write)
            # The listing itself holds one descriptor, the lowest that was free.
            seen = {int(number) for number in line_of(process).split()}
            assert {0, 1, 2, write} <= seen
            assert len(seen) == 5
            assert os.read(read, 1) == b""  # the guardian holds no copy
            os.close(read)
            process.wait(DEADLINE)


class TestSession:
    PRINTS_ITS_IDS = "import os; print(os.getsid(0), os.getpgid(0), os.getpid(), flush=True)"

    def test_the_program_leads_a_session_of_its_own(self) -> None:
        with start(self.PRINTS_ITS_IDS) as process:
            session, group, pid = line_of(process).split()
            assert session == group == pid
            process.wait(DEADLINE)

    def test_without_a_session_it_has_its_own_group(self) -> None:
        with start_without_session(self.PRINTS_ITS_IDS) as process:
            session, group, pid = line_of(process).split()
            assert int(session) == os.getsid(0)
            assert group == pid
            process.wait(DEADLINE)

    def test_neither_it_nor_its_guardian_is_in_the_starters_group(self) -> None:
        with start_without_session(
            "import sys, time; print('up', flush=True); time.sleep(600)"
        ) as process:
            line_of(process)
            guardian = psutil.Process(process.pid).ppid()
            assert os.getpgid(0) not in (os.getpgid(process.pid), os.getpgid(guardian))
            assert os.getpgid(process.pid) != os.getpgid(guardian)

    def test_descendants_have_ended_before_the_end_is_reported(self) -> None:
        with start_without_session(DAEMONISER + "raise SystemExit(3)") as process:
            descendant = Watched(int(line_of(process)))
            assert process.wait(DEADLINE) == 3
            assert descendant.has_ended()


def test_the_report_is_readable_only_after_the_end(sleeper: GuardedProcess) -> None:
    assert select.select([sleeper], [], [], 0)[0] == []
    sleeper.kill()
    assert select.select([sleeper], [], [], DEADLINE)[0] == [sleeper]


def test_any_text_may_be_an_argument() -> None:
    arguments = ["", "two words", "new\nline", "ü", '"quoted"']
    with GuardedProcess(
        [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *arguments],
        environment={},
        directory=Path("/"),
        stdout=subprocess.PIPE,
    ) as process:
        assert json.loads(line_of(process)) == arguments
