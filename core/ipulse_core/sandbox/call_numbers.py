"""The system calls that sandboxed processes may not make, with their numbers on each processor.

As in the default profile of Docker, calls are left out that change the machine, that see or change
other processes, or that a process without rights hardly needs and that had many faults. Memory and
messages that no process maps count against no limit where the kernel does not count for us.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

# Numbers from the headers of the kernel; None: the processor has no such call.
_X86_64, _AARCH64 = 0, 1
_REFUSED: Dict[str, Tuple[Optional[int], Optional[int]]] = {
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    "io_setup": (206, 0),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}
# This number and all above it are newer than the list, and refused as if the kernel lacked them.
FIRST_UNKNOWN = 457


class Machine(NamedTuple):
    """The numbers of a processor's Linux, from its headers audit.h and unistd.h."""

    audit: int
    refused: Tuple[int, ...]
    clone: int
    clone3: int
    socket: int


def _refused(processor: int) -> Tuple[int, ...]:
    numbers = (pair[processor] for pair in _REFUSED.values())
    return tuple(number for number in numbers if number is not None)


MACHINES = {
    "x86_64": Machine(0xC000003E, _refused(_X86_64), 56, 435, 41),
    "aarch64": Machine(0xC00000B7, _refused(_AARCH64), 220, 435, 198),
}
