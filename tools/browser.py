"""Headless Chromium, driven over its DevTools protocol through two pipes: the standard library suffices."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
INSTALL = "no Chromium is on the path: apt-get install chromium, or set CHROMIUM to the program's path"
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
    *("--remote-debugging-pipe", "--force-color-profile=srgb"),
)


def _high(descriptor: int) -> int:
    """Return the descriptor's file under a number from 10 on."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class BrowserError(RuntimeError):
    """The browser refused a command, or what a call waited for did not happen."""


def chromium() -> str | None:
    """Return the path of a Chromium, or None where there is none."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser with one page, as a context manager.

    Attributes
    ----------
    messages
        What the page wrote to the console, and its uncaught errors.
    requests
        The addresses the page asked for, its own included.
    """

    def __init__(self, width: int = 1600, height: int = 1000, scale: float = 1, *, network: bool = False) -> None:
        self._network = network
        self._size = (width, height)
        self._scale = scale
        self._number = 0
        self._buffer = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._session: str | None = None
        self._frame: str | None = None
        self._loaded = False
        self.messages: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> Self:
        """Start the browser with an empty profile and, unless it was asked for, no network."""
        program = chromium()
        if program is None:
            raise BrowserError(INSTALL)
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        # Descriptors above those that the browser's pipes are moved to, so that none is overwritten on the way.
        commands, self._commands = map(_high, os.pipe())
        self._results, results = map(_high, os.pipe())
        width, height = self._size
        # The browser reads commands from its descriptor 3 and writes to 4: a shell moves the pipes there.
        moved = f'exec "$0" "$@" 3<&{commands} 4>&{results}'
        arguments = [program, *_FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self._profile}"]
        self._process = subprocess.Popen(
            ["bash", "-c", moved, *arguments, "about:blank"],
            pass_fds=(commands, results),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(results)
        self._attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the browser and delete its profile."""
        os.close(self._commands)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._results)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _attach(self) -> None:
        targets = self._send("Target.getTargets", {})["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self._send("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable", {})
        if not self._network:
            offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            self._send("Network.emulateNetworkConditions", offline)
        width, height = self._size
        self._send(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": self._scale, "mobile": False},
        )
        self._send("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True})

    def _send(self, method: str, parameters: dict[str, Any], seconds: float = 120) -> dict[str, Any]:
        self._number += 1
        number = self._number
        command: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        end = time.monotonic() + seconds
        while number not in self._answers:
            self._read(end, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            msg = f"{method}: the browser answered {answer['error']}"
            raise BrowserError(msg)
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self, end: float, subject: str) -> None:
        """Read what the browser wrote: answers by number, and events."""
        ready, _, _ = select.select([self._results], [], [], max(0.0, end - time.monotonic()))
        chunk = os.read(self._results, 1 << 20) if ready else b""
        if not chunk:
            msg = f"{subject}: the browser gave no answer"
            raise BrowserError(msg)
        *whole, self._buffer = (self._buffer + chunk).split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._event(message["method"], message["params"])

    def _event(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.messages.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}".strip())
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Target.attachedToTarget" and parameters["targetInfo"]["type"] == "iframe":
            self._frame = parameters["sessionId"]

    # What a test does

    def open(self, path: Path) -> None:
        """Open a file, and wait until it is loaded."""
        self.go(path.resolve().as_uri())

    def go(self, address: str) -> None:
        """Open an address, and wait until it is loaded."""
        self._loaded = False
        self._send("Page.navigate", {"url": address})
        end = time.monotonic() + 120
        while not self._loaded:
            self._read(end, f"loading {address}")

    def prefer(self, scheme: str) -> None:
        """Have the reader prefer ``light`` or ``dark`` pages."""
        wish = {"name": "prefers-color-scheme", "value": scheme}
        self._send("Emulation.setEmulatedMedia", {"features": [wish]})

    def run_in_frame(self, expression: str) -> Any:
        """Return the value of a JavaScript expression inside the page's one frame of foreign origin."""
        own, self._session = self._session, self._frame
        try:
            return self.run(expression)
        finally:
            self._session = own

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited if it is a promise."""
        parameters = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        result = self._send("Runtime.evaluate", parameters)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, condition: str, seconds: float = 120) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                msg = f"waited {seconds} s in vain for {condition}"
                raise BrowserError(msg)
            time.sleep(0.02)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send one event of the mouse."""
        self._send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def click(self, x: float, y: float, count: int = 1) -> None:
        """Click a point of the window once, or several times in a row."""
        self.mouse("mouseMoved", x, y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=number)

    def click_on(self, selector: str, count: int = 1) -> None:
        """Click the middle of the first element that a CSS selector finds."""
        self.click(*self.middle(selector), count)

    def middle(self, selector: str) -> tuple[float, float]:
        """Return the middle of an element, scrolled into view."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "if (!e.closest('svg')) e.scrollIntoView({block: 'nearest'});"
            "const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        return x, y

    def drag(self, x: float, y: float, dx: float, dy: float) -> None:
        """Press at a point, move in steps, release."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in (0.25, 0.5, 0.75, 1.0):
            self.mouse("mouseMoved", x + dx * step, y + dy * step, button="left", buttons=1)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type text where the focus is."""
        self._send("Input.insertText", {"text": text})

    def press(self, key: str) -> None:
        """Press and release a key, such as ``Enter`` or ``f``."""
        codes = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39}
        more: dict[str, Any] = {"windowsVirtualKeyCode": codes.get(key, ord(key.upper()[0]))}
        if len(key) == 1:
            more["text"] = key
        self._send("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, **more})
        self._send("Input.dispatchKeyEvent", {"type": "keyUp", "key": key, **more})

    def picture(self, path: Path) -> None:
        """Save the window as a PNG file."""
        taken = self._send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": False})
        path.write_bytes(base64.b64decode(taken["data"]))
