"""docs/reference/spec.md: every field of the experiment spec."""

from __future__ import annotations

from ipulse.spec import MAX_STATE, MAX_SYNAPSES
from ipulse.spec.document.example import example_path
from ipulse.spec_sections import Section, program_sections, spec_sections

_HEAD = f"""\
# The experiment spec

Written by `make docs` from `ipulse/spec/`; to change this page, change the fields there.

A spec is data: a YAML file for people, the same as JSON over HTTP. `ipulse validate FILE` checks
one on your machine and reports each problem with its line; `from ipulse import ExperimentSpec` does
the same in Python. A field without a default is required; a field that is not listed here is
refused. Where several kinds are listed at one place and a spec names none, the kind of the default
is used.

Two limits apply to several fields together: the whole network has at most {MAX_SYNAPSES:,}
weights, and one training step computes at most {MAX_STATE:,} membrane values (`data.steps` times
`training.batch_size` times all neurons).

## An example

`examples/digits.yaml`:

```yaml
"""


_PROGRAM = """\
## Programs

A spec with `kind: poplar_program` runs a [Poplar program](../guides/program.md), has no network and
has the fields below."""


def spec_page() -> str:
    """Returns the page as Markdown."""
    parts = [_HEAD + example_path().read_text(encoding="utf-8") + "```"]
    parts += map(_in_markdown, spec_sections())
    parts.append(_PROGRAM)
    parts += map(_in_markdown, program_sections())
    return "\n\n".join(parts) + "\n"


def _in_markdown(section: Section) -> str:
    lines = [
        f"## {section.title}\n\n{section.description}\n",
        "| field | type | default | limits | unit | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in section.fields:
        cells = [f"`{row.name}`", row.type, row.default, row.limits, row.unit, row.meaning]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
