"""The agent does not import TensorFlow, which starts threads although the agent forks.

Other modules are not imported because they would delay its start.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_agent_brings_neither_tensorflow_nor_the_runner_along() -> None:
    code = (
        "import sys\n"
        "import ipulse_worker.agent.program\n"
        "heavy = {'tensorflow', 'keras', 'numpy', 'ipulse_ops', 'ipulse_service',"
        " 'ipulse_worker.runner'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout.strip() == ""
