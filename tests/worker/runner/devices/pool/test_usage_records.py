"""Records of jobs with IPUs exist as long as their processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from ipulse_worker.runner.devices.pool import UsageRecords

HOLDER = """
import sys, time
from pathlib import Path
from ipulse_worker.runner.devices.pool import UsageRecords
records = UsageRecords(Path(sys.argv[1]))
records.hold("job_other", 2)
print(len(records.others()), flush=True)
sys.stdin.read()
"""


def test_a_record_ends_with_its_process(tmp_path: Path) -> None:
    directory = tmp_path / "ipu-jobs"
    ours = UsageRecords(directory)
    assert ours.others() == []
    command = [sys.executable, "-c", HOLDER, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"0\n"  # its own is none of the others
        (actual,) = ours.others()
        assert (actual.job_id, actual.pid, actual.ipus) == ("job_other", other.pid, 2)
        ours.hold("job_ours", 1)
        assert ours.others() == [actual]
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert ours.others() == []
    assert len(list(directory.iterdir())) == 1
    ours.drop()
    ours.drop()
    assert list(directory.iterdir()) == []


def test_what_is_no_record_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "nobody's").write_bytes(b"{")
    assert UsageRecords(tmp_path).others() == []
