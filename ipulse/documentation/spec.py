"""docs/reference/spec.md and spec-1.md: every field of the experiment spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ipulse.spec import MAX_STATE, MAX_SYNAPSES
from ipulse.spec.document.example import example_path
from ipulse.spec_sections import FieldRow, Section, program_sections, script_sections, spec_sections

_HEAD = f"""\
# The experiment spec

Written by `make docs` from `ipulse/spec/`; to change this page, change the fields there.

This page has the fields of version 2; see also [what is new in it](spec-2.md) and
[the fields of version 1](spec-1.md).

A spec is data: a YAML file for people, the same as JSON over HTTP. `ipulse validate FILE` checks
one on your machine and reports each problem with its line; `from ipulse import ExperimentSpec` does
the same in Python. A field without a default is required; a field that is not listed here is
refused. Where several kinds are listed at one place and a spec names none, the kind of the default
is used. The readout has the connections and the LIF neurons of hidden layers.

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

_SCRIPT = """\
## Scripts

A spec with `kind: script` runs a [TensorFlow script](../guides/ipu-script.md#as-a-job), has no
network and has the fields below."""


_OLD = """\
# Version 1 of the spec

Written by `make docs`. Files of version 1 stay valid; `ipulse spec upgrade FILE` prints one in
[version 2](spec.md). The fields outside of `network` are the same in both versions."""


def old_spec_page() -> str:
    """Returns the page of version 1 as Markdown."""
    sections = [each for each in spec_sections(1) if each.path.startswith("network")]
    return "\n\n".join([_OLD, *map(_in_markdown, sections)]) + "\n"


def spec_page() -> str:
    """Returns the page as Markdown."""
    parts = [_HEAD + example_path().read_text(encoding="utf-8") + "```"]
    parts += map(_in_markdown, _without_repetitions(spec_sections()))
    parts.append(_PROGRAM)
    parts += map(_in_markdown, program_sections())
    parts.append(_SCRIPT)
    parts += map(_in_markdown, script_sections())
    return "\n\n".join(parts) + "\n"


def _without_repetitions(sections: Iterable[Section]) -> Iterator[Section]:
    """Yields the sections without those of the readout that hidden layers have as well."""
    known = set()
    for section in sections:
        content = (section.description, section.fields)
        if not section.path.startswith("network.readout.") or content not in known:
            yield section
        known.add(content)


def _in_markdown(section: Section) -> str:
    """Returns a section; where some fields are usual, the others are folded."""
    lines = [f"## {section.title}\n\n{section.description}\n"]
    usual = [row for row in section.fields if row.usual]
    rest = [row for row in section.fields if not row.usual]
    if not usual:
        return "\n".join([*lines, *_table(rest)])
    lines += _table(usual)
    if rest:
        lines += ["", f":::{{dropdown}} More: {', '.join(row.name for row in rest)}"]
        lines += [*_table(rest), ":::"]
    return "\n".join(lines)


def _table(rows: Iterable[FieldRow]) -> Iterator[str]:
    yield "| field | type | default | limits | unit | meaning |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        cells = [f"`{row.name}`", row.type, row.default, row.limits, row.unit, row.meaning]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
