"""The model of a spec on its device: one subclass of `Device` for each `device.kind`.

An attempt makes the device of its spec, and runs the phases in the order of `Device.phases`. It
calls each of these methods at most once:

    configure()     in prepare: before TensorFlow's first op
    compile(slots)  in compile: ops, executables and graphs; returns a Model that is ready to train
    acquire()       in acquire: waits until this attempt has the device, and logs who uses it
    release()       at the end in all cases, also without an acquire

`compile` and `acquire` must not depend on each other. The connection type, which is in
devices/connection.py, decides which comes first, and whether there is an `acquire`. Executing a
Model needs both. A device logs with `log`, one line each; code that waits calls `check` regularly,
which raises Cancelled.

Programs and tests may rely on these log lines, in the order in which they happen: "compiled in ..."
or "loaded from the executable cache ..." or "pre-compiled in ...", then "attached to <kind> ...".
"""
