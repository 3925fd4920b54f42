"""JupyterLab in headless Chromium: a server of its own, on a free port of this machine, that needs no token."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Iterator

# Nothing but the notebook: no news, no questions, and cells out of sight are drawn too.
_PAGE = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
_SETTINGS = {"tracker": {"windowingMode": "none"}}
_FLAGS = (
    "--no-browser", "--allow-root", "--expose-app-in-browser", "--IdentityProvider.token=", "--ServerApp.ip=127.0.0.1",
    "--LabApp.extension_manager=readonly", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)  # fmt: skip


class LabError(RuntimeError):
    """The server did not start."""


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which Jupyter and IPython read and write in a folder only, not in the user's."""
    home.mkdir(parents=True, exist_ok=True)
    own = {name: str(home / name) for name in ("config", "data", "runtime", "ipython", "settings", "workspaces")}
    return os.environ | {
        "JUPYTER_CONFIG_DIR": own["config"],
        "JUPYTER_DATA_DIR": own["data"],
        "JUPYTER_RUNTIME_DIR": own["runtime"],
        "JUPYTERLAB_SETTINGS_DIR": own["settings"],
        "JUPYTERLAB_WORKSPACES_DIR": own["workspaces"],
        "IPYTHONDIR": own["ipython"],
        "JUPYTER_PLATFORM_DIRS": "1",
    }


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the notebooks of a folder in the block; the value is the server's address."""
    with tempfile.TemporaryDirectory() as place, socket.socket() as free:
        home = Path(place)
        pages = home / "config" / "labconfig"
        pages.mkdir(parents=True)
        (pages / "page_config.json").write_text(json.dumps(_PAGE), encoding="utf-8")
        settings = home / "settings" / "@jupyterlab" / "notebook-extension"
        settings.mkdir(parents=True)
        for name, values in _SETTINGS.items():
            (settings / f"{name}.jupyterlab-settings").write_text(json.dumps(values), encoding="utf-8")
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        log = home / "log"
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            *_FLAGS,
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
        ]
        with log.open("wb") as output:
            server = subprocess.Popen(
                [*command, f"--ServerApp.root_dir={folder.resolve()}"],
                env=environment(home),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            try:
                address = f"http://127.0.0.1:{port}"
                _wait_for(address, server, log)
                yield address
            finally:
                server.terminate()
                server.wait(60)


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"{address}/api/status", timeout=10):
                return
        except (urllib.error.URLError, OSError):
            if server.poll() is not None or time.monotonic() > end:
                msg = f"JupyterLab did not start:\n{log.read_text(encoding='utf-8', errors='replace')}"
                raise LabError(msg) from None
        time.sleep(0.1)


class Lab:
    """One notebook that is open in JupyterLab, in a browser.

    Parameters
    ----------
    browser
        A browser that may use the network.
    address
        The server's address.
    name
        The name of the notebook's file.
    """

    def __init__(self, browser: Browser, address: str, name: str) -> None:
        self.browser = browser
        browser.go(f"{address}/lab/tree/{name}?reset")
        browser.wait("window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')")
        browser.wait(f"{_SESSION}?.session?.kernel?.status === 'idle'")
        # Commands are for the notebook that has the focus, which a page without a screen gives to none.
        browser.run("jupyterapp.shell.activateById([...jupyterapp.shell.widgets('main')][0].id)")

    def run_all(self) -> None:
        """Begin to run all cells."""
        self.browser.run("void jupyterapp.commands.execute('notebook:run-all-cells')")

    def wait(self, seconds: float = 300) -> None:
        """Wait until all cells have run, and the page has drawn what they show."""
        cells = "[...document.querySelectorAll('.jp-Notebook .jp-CodeCell')]"
        ran = f"{cells}.every((e) => /\\[\\d+\\]/.test(e.querySelector('.jp-InputPrompt').textContent))"
        self.browser.wait(f"{ran} && {_SESSION}.session.kernel.status === 'idle'", seconds)

    def outputs(self) -> list[dict[str, Any]]:
        """Return for each cell of code its text, the kinds of its outputs, their text, and how tall they are."""
        shown: list[dict[str, Any]] = self.browser.run(
            "[...document.querySelectorAll('.jp-Notebook .jp-CodeCell')].map((cell) => ({"
            "source: cell.querySelector('.jp-InputArea .cm-content').innerText,"
            "outputs: [...cell.querySelectorAll('.jp-OutputArea-output')].map((e) => ({"
            "kind: e.dataset.mimeType ?? '', text: e.innerText, height: e.getBoundingClientRect().height,"
            "formulas: e.querySelectorAll('mjx-container, .MathJax').length,"
            "faults: e.querySelectorAll('mjx-merror, merror, [data-mjx-error]').length}))}))"
        )
        return shown


_SESSION = "[...jupyterapp.shell.widgets('main')][0]?.sessionContext"


def take_picture(notebook: Path, picture: Path) -> None:
    """Run a notebook in JupyterLab and save a picture of its beginning, without the parts around it."""
    with served(notebook.parent) as address, Browser(1000, 1500, network=True) as browser:
        lab = Lab(browser, address, notebook.name)
        lab.run_all()
        lab.wait()
        browser.run("jupyterapp.commands.execute('application:toggle-left-area')")
        browser.run("document.querySelector('.jp-Notebook .jp-Cell').scrollIntoView()")
        browser.run("new Promise((done) => setTimeout(done, 2000))")
        browser.picture(picture)
