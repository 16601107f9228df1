"""Runs a script with emulated IPUs: `python -m ipu_tensorflow_emulator train.py --epochs 3`."""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any, List, Optional

from ipu_tensorflow_emulator import settings
from ipu_tensorflow_emulator.activation import has_announced, is_enabled, say

# What a script's last exception says, and the way on.
_HINTS = (
    (
        re.compile(r"No module named 'pop(torch|art)"),
        "only TensorFlow for the IPU is emulated: PopTorch and PopART are not",
    ),
    (
        re.compile(r"No module named '(?P<name>[\w.]+)'"),
        "{name} is not installed here: install it with pip, or leave it out. Only TensorFlow and "
        "custom ops run as on an IPU",
    ),
    (
        re.compile(r"URL fetch failure|urlopen error|name resolution|Network is unreachable"),
        "a download failed: check the network, or put the file where the script looks for it; "
        "keras.datasets looks in ~/.keras/datasets",
    ),
    (
        re.compile(r"module '\S*tensorflow\S*' has no attribute '(?P<name>\w+)'"),
        "tf.{name} is of TensorFlow 1: try the option --tf1",
    ),
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ipu_tensorflow_emulator",
        description="Run a TensorFlow script for the IPU without an IPU. Custom ops run on "
        "emulated tiles and everything else on the host.",
    )
    parser.add_argument("script", help="Python script; its own arguments follow it")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("--ipus", type=int, help="attached IPUs (default: 4)")
    parser.add_argument("--tiles", type=int, help="tiles of an IPU (default: 1472)")
    parser.add_argument(
        "--tf1",
        action="store_true",
        help="the script is for TensorFlow 1: `tensorflow` is `tensorflow.compat.v1`, without "
        "eager execution",
    )
    parser.add_argument(
        "--keras",
        type=int,
        choices=(2, 3),
        help="version of Keras on newer TensorFlow (default: 2 if tf_keras is installed)",
    )
    parser.add_argument("--report", metavar="DIR", help="folder for report.json and profiles")
    parser.add_argument("--quiet", action="store_true", help="do not print the report")
    return parser


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command and return the script's exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not Path(options.script).is_file():
        parser.error(f"{options.script}: no such file")
    for name, value in (
        (settings.SWITCH, 1),
        (settings.IPUS, options.ipus),
        (settings.TILES, options.tiles),
        (settings.REPORT, options.report and os.path.abspath(options.report)),
        (settings.TF1, 1 if options.tf1 else None),
        (settings.QUIET, 1 if options.quiet else None),
    ):
        if value:
            os.environ[name] = str(value)
    try:
        settings.attached_ipus()
        settings.tiles_per_ipu(1472)
    except settings.SettingsError as error:
        parser.error(str(error))
    if options.keras:
        os.environ["TF_USE_LEGACY_KERAS"] = str(int(options.keras == 2))
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = str(Path(options.script).resolve().parent)
    if is_enabled() and settings.is_tf1():
        from ipu_tensorflow_emulator.tensorflow_setup import present_tensorflow_1

        present_tensorflow_1()
    sys.excepthook = functools.partial(_show, options.script, sys.excepthook)
    try:
        runpy.run_path(options.script, run_name="__main__")
    except Exception as error:
        hint = _hint(str(error))
        if hint:
            atexit.register(say, hint)  # after the traceback
        raise
    finally:
        if is_enabled() and not has_announced():
            say("the script did not import tensorflow.python.ipu, so nothing was emulated")
    return 0


def _show(script: str, stock: Any, kind: Any, error: BaseException, trace: Any) -> None:
    """Show an exception without the frames that started the script."""
    own = trace
    while own is not None and own.tb_frame.f_code.co_filename != script:
        own = own.tb_next
    stock(kind, error.with_traceback(own or trace), own or trace)


def _hint(message: str) -> Optional[str]:
    for pattern, words in _HINTS:
        found = pattern.search(message)
        if found and not ("--tf1" in words and settings.is_tf1()):
            return words.format(**found.groupdict())
    return None


if __name__ == "__main__":
    sys.exit(main())
