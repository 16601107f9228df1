"""Limits on numbers and text that hold in every document of the project."""

import re

MAX_INTEGER = 2**53 - 1  # the largest integer that every JSON reader keeps exactly
MAX_FLOAT32 = 3.4028234663852886e38
MAX_SPEC_BYTES = 4 * 2**20  # of a spec as JSON or YAML: two numbers for each of 65,535 neurons fit
MAX_NIR_BYTES = 2**28  # of a NIR file; one that fits into the memory of the process that reads it
MAX_KEPT_TEXT_BYTES = 256 * 1024  # of a spec's text as submitted
MAX_TEXT = 512  # characters of a text, where its field sets no other limit
MAX_KEY = 64  # characters of a key in a map
MAX_CHANNELS = 65_536  # of any input: ids have 16 bits
MOST_COUNTED = 2**16 - 1  # events of a sample, step and channel that `data.input: counts` counts
MAX_STEPS = 10_000  # of a sample, and so of a delay
MAX_TAGS = 16  # of a job
MAX_NOTES = 16_384  # characters of a job's notes
TAG = r"^[a-z0-9_.-]{1,40}$"
LABEL = r"^[a-z0-9_./-]{1,63}$"  # name or value of a label of agents
WANTED_LABEL = rf"^\*$|{LABEL}"  # the value that a job asks for; *: any
POOL = r"^[a-z0-9][a-z0-9._-]{0,62}$"  # name of a pool of agents
DEFAULT_POOL = "default"  # of jobs that name none, and of agents that no other pool has
MAX_WHERE = 16  # labels that a job may ask for
GROUP = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$"  # the name of a group of jobs
LOWEST_PRIORITY, HIGHEST_PRIORITY = -100, 100  # of a job

# For character classes of patterns: C0 and C1 except tab and line ends, which a terminal might
# take for commands.
CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
CONTROL_CHARACTERS = re.compile(f"[{CONTROL}\ud800-\udfff]")  # lone surrogates fit in no file
# Characters that reorder the text around them (Unicode's Bidi_Control), end a line for some
# readers, or take no place: a name or a line of a log could pretend to be another. The joiners
# U+200C and U+200D are not among them: Persian and emoji need these.
DECEPTIVE = r"\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
DECEPTIVE_CHARACTERS = re.compile(f"[{DECEPTIVE}]")
PRINTABLE = f"^[^{CONTROL}]*$"
# Text without control characters that neither begins nor ends with white space.
TRIMMED = rf"^[^\s{CONTROL}]([^\n{CONTROL}]*[^\s{CONTROL}])?$"


def escape_deceptive(text: str) -> str:
    """Returns the text with each deceptive character as an escape, as in JSON."""
    return DECEPTIVE_CHARACTERS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
