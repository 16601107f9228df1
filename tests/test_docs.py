"""Pages agree with the project: commands, links, versions, no foreign names."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from ipulse.cli.command_list import COMMANDS, GROUPS
from ipulse.deprecated import FORMER_COMMANDS
from ipulse.environment_settings import EnvironmentSettings
from ipulse_core.version import RELEASE
from ipulse_service.settings import Settings as ServiceSettings
from ipulse_worker.agent.settings import AgentSettings

ROOT = Path(__file__).resolve().parent.parent


def tracked(pattern: str = "*") -> list[Path]:
    """The project's own files."""
    command = ["git", "ls-files", "-z", "--", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    # A file that was just removed is still in the index.
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


PROSE = tracked("*.md")
# These pages are written when the site is built; Sphinx checks their links.
GENERATED = {
    ROOT / "docs" / "reference" / name
    for name in ("spec.md", "what-runs-where.md", "cli.md", "http.md")
}


def code_blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, code in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        if language in languages:
            yield code


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made where Markdown is shown."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_commands_that_pages_show_exist() -> None:
    shown = {
        (page.name, name)
        for page in PROSE
        for code in [*code_blocks(page, "", "sh", "bash", "console"), *quoted(page)]
        for name in re.findall(r"^(?:\$ )?ipulse ([a-z]+)", code, re.M)
    }
    assert shown
    former = {name.split()[0] for name in FORMER_COMMANDS} - {"agent"}
    history = {"CHANGELOG.md", "upgrade.md"}  # these pages name former commands
    names = {name for page, name in shown if page not in history or name not in former}
    assert names <= {*COMMANDS, *GROUPS}


def quoted(page: Path) -> list[str]:
    return re.findall(r"`(ipulse [^`]+)`", page.read_text())


def test_python_that_pages_show_is_python() -> None:
    for page in PROSE:
        for code in code_blocks(page, "python"):
            ast.parse(code, filename=page.name)


# Blocks in Python and for the shell are run by docs/conftest.py.
LANGUAGES = {"python", "sh", "text", "yaml"}
DOCUMENTED = [ROOT / "README.md", *(page for page in PROSE if page.is_relative_to(ROOT / "docs"))]


@pytest.mark.parametrize("page", DOCUMENTED, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_block_is_run_or_skipped_with_a_reason(page: Path) -> None:
    for token in MarkdownIt().parse(page.read_text()):
        place = f"line {token.map[0] + 1}" if token.map else ""
        if token.type == "fence" and not token.info.startswith("{"):
            assert token.info in LANGUAGES, f"{place}: name the language of the block"
        elif token.type == "code_block":  # by its indent alone
            lines = token.content.splitlines()
            assert all(line.startswith("make ") for line in lines), f"{place}: use a fenced block"
        elif token.type == "html_block" and "skip:" in token.content:
            form = r'<!--- skip: next (".+"|if\(.+, reason=".+"\)) -->\s*'
            assert re.fullmatch(form, token.content), place


@pytest.mark.parametrize("settings", [ServiceSettings, AgentSettings])
def test_every_setting_has_an_entry(settings: type[EnvironmentSettings]) -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    variables = map(settings.variable_of, settings.model_fields)
    assert [each for each in variables if each and f"`{each}`" not in page] == []


def test_checks_name_tests_that_exist() -> None:
    page = (ROOT / "docs" / "evidence" / "checks.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 50
    defined = "".join(path.read_text() for path in tracked("*/test_*.py"))
    assert [each for each in sorted(named) if f"def {each}(" not in defined] == []


def test_the_changelog_has_this_release() -> None:
    if ".dev" not in RELEASE:
        heading = rf"^## \[{re.escape(RELEASE)}\]"
        assert re.search(heading, (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_a_release_collects_every_fragment() -> None:
    """Towncrier ignores a file whose name it cannot read, and its change would be lost."""
    kinds = {
        kind["directory"]
        for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"][
            "type"
        ]
    }
    for file in (ROOT / "changes").iterdir():
        if file.name != "README.md":
            name = re.fullmatch(r"\+[a-z0-9-]+\.([a-z]+)\.md", file.name)
            assert name is not None, file
            assert name[1] in kinds, file


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            assert target.startswith("https://"), target
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        if file in GENERATED:
            continue
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_no_file_names_a_registry_or_the_machine_it_was_written_on() -> None:
    # Written in two parts, so that this file is not the one that is found.
    names = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".com"]
    places = ["/work" + "/main", "/root" + "/"]
    hits = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in tracked()
        for content in [path.read_bytes()]
        for word in names + places
        if word.encode() in content
    ]
    assert hits == []
