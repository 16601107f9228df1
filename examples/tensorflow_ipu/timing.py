"""Times a custom op in a loop on the device, as one does on an IPU, for several sizes.

timing.py LIBRARY, the path of the compiled lif_op.cpp (docs/tutorial/9-ipu-script.md). On emulated
IPUs the seconds are those of this computer and say nothing about an IPU: the cycles are in the
report.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import tensorflow as tf
from tensorflow.python import ipu

BATCH, LOOPS, REPETITIONS = 4, 20, 3
DECAY = "0.8"


def main() -> None:
    """Print a line for each number of neurons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--neurons", type=int, nargs="+", default=[64, 256, 1024])
    options = parser.parse_args()

    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    strategy = ipu.ipu_strategy.IPUStrategy()
    with strategy.scope():
        for neurons in options.neurons:
            current = tf.fill([BATCH, neurons], 1.5)

            @tf.function(experimental_compile=True)
            def steps(membrane, current):
                for _ in tf.range(LOOPS):
                    membrane, _ = ipu.custom_ops.precompiled_user_op(
                        [membrane, current],
                        options.library,
                        str(Path(__file__).with_name("lif_codelets.cpp")),
                        outs={
                            "output_types": [tf.float32, tf.float32],
                            "output_shapes": [current.shape, current.shape],
                        },
                        attributes=DECAY,
                    )
                return membrane

            arguments = [tf.zeros_like(current), current]
            strategy.run(steps, args=arguments)  # compiles
            begin = time.perf_counter()
            for _ in range(REPETITIONS):
                strategy.run(steps, args=arguments).numpy()
            seconds = (time.perf_counter() - begin) / (REPETITIONS * LOOPS)
            sys.stdout.write(f"{neurons:6} neurons: {1e6 * seconds:8.1f} us a call\n")


if __name__ == "__main__":
    main()
