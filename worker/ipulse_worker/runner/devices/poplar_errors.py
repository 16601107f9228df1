"""Poplar's errors as TensorFlow words them, and what each means for the job.

TensorFlow turns every exception of Poplar into an InternalError with one line:

    [Poplar][Execute engine] recoverable_runtime_error: [Recovery action: IPU_RESET] what happened

(`PoplarExceptionToTensorflowStatus` of TensorFlow for the IPU, 2.2 to 3.3). The emulator words its
errors the same way, so that both are read here.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional

from ipulse_core.states import Reason

_WORDS = re.compile(
    r"\[Poplar\](?:\[(?P<origin>[^\]]+)\])? ?(?P<type>\w+): "
    r"(?:\[Recovery action: (?P<action>\w+)\] )?(?P<what>.*)",
    re.DOTALL,
)
_RESET_NEXT = "IPU will be reset the next time a program is executed."
_MOST_WORDS = 2000

_BY_TYPE: Dict[str, Reason] = {
    "application_runtime_error": Reason.APPLICATION_ERROR,
    "unrecoverable_runtime_error": Reason.UNRECOVERABLE,
    "graph_memory_allocation_error": Reason.DEVICE_OUT_OF_MEMORY,
}
_BY_ACTION: Dict[str, Reason] = {
    "IPU_RESET": Reason.IPU_RESET,
    "LINK_RESET": Reason.PARTITION_RESET,  # resetting the partition trains its links again
    "PARTITION_RESET": Reason.PARTITION_RESET,
    "FULL_RESET": Reason.FULL_RESET,
}
_CURES: Dict[Reason, str] = {
    Reason.APPLICATION_ERROR: "The program stopped on the device by an error of its own, which "
    "another try would repeat: look for a division by zero, a number out of range or an id that "
    "no neuron has.",
    Reason.DEVICE_OUT_OF_MEMORY: "The program does not fit into the memory of the tiles: use a "
    "smaller training.batch_size, fewer data.steps, smaller layers or more device.ipus.",
    Reason.GRAPH_REFUSED: "Poplar refused the program.",
    Reason.IPU_RESET: "The IPU is reset before its next program, and the job goes on from its "
    "last checkpoint.",
    Reason.PARTITION_RESET: "The worker's partition needs a reset (vipu reset partition NAME); "
    "the job goes on elsewhere, and the worker rests.",
    Reason.FULL_RESET: "The device needs a power cycle; the job goes on elsewhere, and the worker "
    "uses the device no more.",
    Reason.UNRECOVERABLE: "The device is at fault and no reset is known to help; the job goes on "
    "elsewhere, and the worker uses the device no more.",
}


class PoplarError(NamedTuple):
    """One error as it was worded."""

    origin: str  # what Poplar was doing: "Compile engine", "Execute engine", ...; may be empty
    type: str  # the class of the exception
    action: Optional[str]  # that brings the device back, if one does
    what: str

    @property
    def reason(self) -> Reason:
        """What it is for the job; an action nobody knows is no reset that is known to help."""
        if self.type == "recoverable_runtime_error":
            return _BY_ACTION.get(self.action or "", Reason.UNRECOVERABLE)
        return _BY_TYPE.get(self.type, Reason.GRAPH_REFUSED)

    @property
    def message(self) -> str:
        """One paragraph for people: what to do, then Poplar's own words."""
        where = f" ({self.origin})" if self.origin else ""
        return f"{_CURES[self.reason]} Poplar says{where}: {self.type}: {self.what[:_MOST_WORDS]}"


def find(text: str) -> Optional[PoplarError]:
    """The error of Poplar in the words of an exception, if it is one."""
    found = _WORDS.search(text)
    if found is None:
        return None
    what = found["what"].replace(_RESET_NEXT, "").strip()
    # TensorFlow appends the place of the op in the graph.
    what = what.split("\n\t [[")[0].split(" [Op:")[0].strip()
    return PoplarError(found["origin"] or "", found["type"], found["action"], what)
