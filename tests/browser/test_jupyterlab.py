"""Every notebook in a real JupyterLab, in a real browser: run by ``make test-browser``, skipped where there is none.

A copy of the project is served on loopback with a token, each notebook is opened, restarted and run to its end by the button
a person would press, and looked at: executed in order, no error, nothing on stderr, every figure drawn. Screenshots of the page
as committed and as run, in the light and the dark theme, are kept in ``data/notebooks/screenshots``.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest

from taulong.batch import KERNELSPEC, SENTINEL
from taulong.paths import OUTPUTS

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = OUTPUTS / "screenshots"
PROJECT = ("notebooks", "taulong", "pyproject.toml", "README.md")  # no results: the notebooks make their own
NOTEBOOKS = sorted(
    path.name for path in (ROOT / "notebooks").glob("*.ipynb")
)  # in order: each reads what those before wrote
SECONDS = 300  # what one notebook may take
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}

IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
ERROR = "[data-mime-type='application/vnd.jupyter.error']"
OUTPUT = ".jp-CodeCell .jp-OutputArea-output"
STDERR = "[data-mime-type='application/vnd.jupyter.stderr']"

pytestmark = pytest.mark.browser


class Lab(NamedTuple):
    """A running JupyterLab: the folder it serves, and where a notebook of it is, by name."""

    folder: Path
    address: str


@pytest.fixture(scope="module", params=THEMES)
def theme(request):
    return request.param


@pytest.fixture(scope="module")
def lab(theme, tmp_path_factory):
    """A JupyterLab on a copy of the project, with a token."""
    folder = tmp_path_factory.mktemp("a project") / "taulong"  # with a space in its path
    for name in PROJECT:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            )
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
    settings = {
        "apputils-extension/themes": {"theme": THEMES[theme]},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight are in the page all the same
    }
    for name, values in settings.items():
        path = folder.parent / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    token = secrets.token_hex(16)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = {f"JUPYTER_{name}_DIR": str(folder.parent / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    with (folder.parent / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
             f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"],
            cwd=folder, stdout=log, stderr=subprocess.STDOUT,
            env={**os.environ, **places, "PYTHONPATH": str(folder), "JUPYTERLAB_SETTINGS_DIR": str(folder.parent / "settings"),
                 "JUPYTERLAB_WORKSPACES_DIR": str(folder.parent / "workspaces")},
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urlopen(f"{address}/api?token={token}", timeout=5).close()
                break
            except (URLError, OSError):
                log = (folder.parent / "server.log").read_text()
                assert server.poll() is None, log
                assert time.monotonic() < deadline, log
                time.sleep(0.3)
        yield Lab(folder, f"{address}/lab/tree/notebooks/{{name}}?token={token}&reset")
    finally:
        server.terminate()
        server.wait(30)


def find(browser, css: str) -> list:
    return browser.find_elements("css selector", css)


def texts(browser, css: str) -> list[str]:
    """Return the text of every element, read in one step: JupyterLab replaces elements while a cell runs."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(element => element.innerText.trim())", css
    )


def wait(browser, condition, seconds: float, what: str):
    """Return the first true value of a condition; fails with what was waited for and the last screenshot."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            screenshot(browser, "failed")
            pytest.fail(f"not within {seconds:g} seconds: {what}; see {SCREENSHOTS / 'failed.png'}")
        time.sleep(0.2)
    return value


def screenshot(browser, name: str) -> None:
    """Keep a picture of the whole notebook, however long."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    browser.set_window_size(1500, 1000)
    height = browser.execute_script(
        "const all = [...document.querySelectorAll('.jp-Notebook, .jp-WindowedPanel-outer, .jp-WindowedPanel-viewport')];"
        "return Math.max(0, ...all.map(element => element.scrollHeight))"
    )
    browser.set_window_size(1500, min(max(height + 200, 1000), 16000))
    time.sleep(0.5)  # the page lays itself out
    browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
    browser.set_window_size(1500, 1000)


def prompts(browser) -> list[str]:
    """Return the prompts of the code cells that have a source: ``[3]:`` executed, ``[*]:`` waiting, ``[ ]:`` not run."""
    return texts(browser, ".jp-CodeCell .jp-InputArea-prompt")


def open_and_run(browser, lab: Lab, name: str, cells: int, committed: str | None = None) -> None:
    """Open a notebook, keep a picture of it as committed, restart it and run all cells, by the toolbar's button."""
    browser.get(lab.address.format(name=name))
    run = "[data-command='notebook:restart-run-all']"
    button = wait(browser, lambda: next(iter(find(browser, run)), None), 60, "the notebook's toolbar")
    wait(browser, lambda: len(prompts(browser)) == cells, 60, f"{cells} code cells")
    wait(browser, lambda: find(browser, IDLE), 60, "a kernel that is idle")
    if committed:
        screenshot(browser, committed)
    button.click()
    accept = wait(
        browser,
        lambda: next(iter(find(browser, ".jp-Dialog .jp-mod-accept")), None),
        10,
        "the question before a restart",
    )
    accept.click()
    wait(
        browser, lambda: "[*]:" in prompts(browser), 30, "cells that wait their turn"
    )  # until then the stored prompts are there
    wait(browser, lambda: "[*]:" not in prompts(browser), SECONDS, "the end of the last cell")
    wait(browser, lambda: find(browser, IDLE), 30, "a kernel that is idle again")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_to_its_end_and_shows_its_figures(lab, browser, theme, name):
    stored = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    figures = sum("image/png" in out.get("data", {}) for cell in code for out in cell.outputs)
    stem = f"{Path(name).stem}-{theme}"
    open_and_run(browser, lab, name, len(code), f"{stem}-committed")
    screenshot(browser, stem)
    assert texts(browser, f"{ERROR}, {STDERR}") == []
    assert prompts(browser) == [f"[{number}]:" for number in range(1, len(code) + 1)]
    assert [text for text in texts(browser, OUTPUT) if text.startswith("<Figure")] == []
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.jp-OutputArea-output img')].map(image => image.complete && image.naturalWidth)"
    )
    assert len(drawn) == figures
    assert all(drawn)
    assert texts(browser, OUTPUT)[-1].startswith(SENTINEL)


def test_an_interactive_table_filters_and_a_hostile_text_stays_text(lab, browser, theme):
    cells = [
        "import pandas as pd\nfrom taulong.progress import progress_bar\nfrom taulong.reading import Conversation, browse",
        "browse(pd.DataFrame({'case_id': ['eval-1/1', 'eval-1/2', '<script>document.title = 1</script>'], 'agent': ['learner', 'parrot', 'parrot'],"
        " 'official_reward': [1.0, 0.0, 0.0]}), interactive=True)",
        "text = '<svg onload=\"document.title = 2\"> <img src=x onerror=\"document.title = 3\"> [link](javascript:alert(1))'\n"
        "Conversation({'messages': [{'role': 'assistant', 'content': text}], 'notebook_before': '', 'notebook_after': text})",
        "with progress_bar(3) as bar:\n    bar.update(3)\n    drawn = not bar.disable\ndrawn",
    ]  # fmt: skip
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata={"kernelspec": KERNELSPEC}
    )
    nbformat.write(notebook, lab.folder / "notebooks" / "table.ipynb")
    open_and_run(browser, lab, "table.ipynb", len(cells))
    assert texts(browser, f"{ERROR}, {STDERR}") == []
    rows = ".dt-container tbody tr"
    wait(browser, lambda: len(find(browser, rows)) == 3, 30, "three rows of the table")
    find(browser, ".dt-container thead input")[1].send_keys("parrot")
    wait(browser, lambda: len(find(browser, rows)) == 2, 10, "the two rows that are left")
    screenshot(browser, f"table-{theme}")
    assert "<script>" in texts(browser, ".dt-container tbody")[0]
    assert texts(browser, ".taulong-agent")[0].count("[link](javascript:alert(1))") == 1
    assert find(browser, ".taulong svg, .taulong img, .taulong script, .taulong a") == []
    assert not browser.title.isdigit()
    assert texts(browser, OUTPUT)[-1] == "True"  # a bar was drawn, and is gone
