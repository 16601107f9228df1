"""Parses Poplar's errors in TensorFlow's messages and maps them to reasons.

TensorFlow converts every exception of Poplar into an InternalError with one line:

    [Poplar][Execute engine] recoverable_runtime_error: [Recovery action: IPU_RESET] what happened

(`PoplarExceptionToTensorflowStatus` of TensorFlow for the IPU, 2.2 to 3.3). The emulator formats
its errors in the same way.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional

from ipulse_core.states import Reason

_FORMAT = re.compile(
    r"\[Poplar\](?:\[(?P<origin>[^\]]+)\])? ?(?P<type>\w+): "
    r"(?:\[Recovery action: (?P<action>\w+)\] )?(?P<what>.*)",
    re.DOTALL,
)
_RESET_NEXT = "IPU will be reset the next time a program is executed."
_MAX_LENGTH = 2000  # characters of Poplar's message

_BY_TYPE: Dict[str, Reason] = {
    "application_runtime_error": Reason.APPLICATION_ERROR,
    "unrecoverable_runtime_error": Reason.UNRECOVERABLE,
    "graph_memory_allocation_error": Reason.DEVICE_OUT_OF_MEMORY,
}
_BY_ACTION: Dict[str, Reason] = {
    "IPU_RESET": Reason.IPU_RESET,
    "LINK_RESET": Reason.PARTITION_RESET,  # resetting the partition retrains its links
    "PARTITION_RESET": Reason.PARTITION_RESET,
    "FULL_RESET": Reason.FULL_RESET,
}
_HINTS: Dict[Reason, str] = {
    Reason.APPLICATION_ERROR: "The program stopped on the device because of an error of its own, "
    "which a retry would repeat: look for a division by zero, a number out of range or an invalid "
    "neuron id.",
    Reason.DEVICE_OUT_OF_MEMORY: "The program does not fit into the memory of the tiles: use a "
    "smaller training.batch_size, fewer data.steps or smaller layers{more}.",
    Reason.GRAPH_REFUSED: "Poplar refused the program.",
    Reason.IPU_RESET: "The IPU is reset before its next program. The job resumes from its last "
    "checkpoint.",
    Reason.PARTITION_RESET: "The worker's partition needs a reset (vipu reset partition NAME). "
    "The job resumes on another worker, and this worker is quarantined.",
    Reason.FULL_RESET: "The device needs a power cycle. The job resumes on another worker, and "
    "this worker no longer uses the device.",
    Reason.UNRECOVERABLE: "The device is faulty and no reset is known to help. The job resumes on "
    "another worker, and this worker no longer uses the device.",
}


class PoplarError(NamedTuple):
    """The parts of an error message."""

    origin: str  # what Poplar was doing: "Compile engine", "Execute engine", ...; may be empty
    type: str  # the class of the exception
    action: Optional[str]  # that recovers the device, if there is one
    what: str

    @property
    def reason(self) -> Reason:
        """The reason of the attempt's end; unknown recovery actions count as unrecoverable."""
        if self.type == "recoverable_runtime_error":
            return _BY_ACTION.get(self.action or "", Reason.UNRECOVERABLE)
        return _BY_TYPE.get(self.type, Reason.GRAPH_REFUSED)

    def message(self, on_one_ipu: bool = False) -> str:
        """Return one paragraph for users: what to do, then Poplar's message.

        on_one_ipu: whether the program cannot use several IPUs.
        """
        where = f" ({self.origin})" if self.origin else ""
        hint = _HINTS[self.reason].format(more="" if on_one_ipu else ", or more device.ipus")
        return f"{hint} Poplar's message{where}: {self.type}: {self.what[:_MAX_LENGTH]}"


def find(text: str) -> Optional[PoplarError]:
    """Return the Poplar error in the text of an exception, or None."""
    match = _FORMAT.search(text)
    if match is None:
        return None
    what = match["what"].replace(_RESET_NEXT, "").strip()
    # TensorFlow appends the place of the op in the graph.
    what = what.split("\n\t [[")[0].split(" [Op:")[0].strip()
    return PoplarError(match["origin"] or "", match["type"], match["action"], what)
