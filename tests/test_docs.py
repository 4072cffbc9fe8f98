"""The pages of docs/how-to are run as they stand: a reader who types them gets what the page says.

A fenced block of `python` or `yaml` that begins with a file's name in a comment is that file; another of `python` is run; one of
`sh` is typed into a shell. `console` is for what needs a network, an account or a model: it is shown, not run.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from taulong.paths import ROOT, SHIFTS

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w/-]+\.(?:py|yaml))\n")
LANGUAGES = {"python", "yaml", "sh", "console", "text", "json", "toml"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def test_every_block_says_what_it_is():
    found = {language for page in PAGES for language, _ in blocks(page)}
    assert found <= LANGUAGES
    assert {"python", "yaml", "sh"} <= found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_typed(page, tmp_path):
    steps = [step for step in blocks(page) if step[0] in ("python", "yaml", "sh")]
    if not any(language in ("python", "sh") for language, _ in steps):
        pytest.skip("nothing to run on this page")
    shutil.copytree(
        SHIFTS, tmp_path / "data" / "shifts", ignore=lambda _, names: {n for n in names if "smoke" not in n}
    )
    environment = os.environ | {
        "TAULONG_WORK": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_API_KEY": "none-is-needed",
    }
    for language, text in steps:
        if name := NAMED.match(text):
            (tmp_path / name[1]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
            continue
        command = [sys.executable, "-c", text] if language == "python" else ["bash", "-euo", "pipefail", "-c", text]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{page.name}:\n{text}\n{done.stdout}\n{done.stderr}"
