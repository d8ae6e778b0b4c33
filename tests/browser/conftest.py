"""The built site in a browser: served from a thread, opened in the Chromium of this machine."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("NPUDOCS_SITE") or ROOT / "build" / "html").resolve()
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
# As root, in a container: no sandbox. The rest keeps Chromium from asking hosts of its own.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, and 404.html where there is none, as hosts of sites do."""

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""

    def send_error(self, code: int, *arguments: Any) -> None:
        page = SITE / "404.html"
        if code != 404 or not page.is_file():
            return super().send_error(code, *arguments)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" else b"")
        return None


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the site."""
    if not (SITE / "index.html").is_file():
        pytest.skip("there is no built site: make html")
    if not CHROMIUM:
        pytest.skip("there is no chromium here: apt-get install chromium")
    handler = functools.partial(Handler, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def chromium(site: str) -> Iterator[Any]:
    """One browser for all tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def new_page(chromium: Any, site: str) -> Any:
    """A page that remembers nothing of others; addresses are relative to the site."""
    context = chromium.new_context(
        base_url=site,
        viewport={"width": 1280, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(20_000)
    return context.new_page()


@pytest.fixture
def page(chromium: Any, site: str) -> Iterator[Any]:
    """A page of one test."""
    made = new_page(chromium, site)
    yield made
    made.context.close()
