"""The reference of the experiment spec, which is written from its models."""

from __future__ import annotations

import re

from ipulse.documentation.spec import spec_page


def test_every_section_has_a_title_of_its_own() -> None:
    page = re.sub(r"```.*?```", "", spec_page(), flags=re.DOTALL)
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert len(titles) > 50
    assert sorted(set(titles)) == sorted(titles)
    assert sum("layers[].pool" in title for title in titles) == 4
