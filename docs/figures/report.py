"""The picture in docs/report.md: the report of the page's own example, in Chromium, light and dark.

Run: python docs/figures/report.py (needs playwright and a Chromium on PATH)
"""

from __future__ import annotations

import re
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

import matplotlib.image
import numpy as np
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve()
SIZE = {"width": 1100, "height": 760}


def main() -> None:
    example = re.search(r"^```python\n(.*?)^```", (HERE.parents[1] / "report.md").read_text(), flags=re.M | re.S)[1]
    folder = Path(tempfile.mkdtemp())
    exec(compile(example.replace('"report.html"', repr(str(folder / "report.html"))), "report.md", "exec"), {})
    pictures = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme, place in (("light", "#whatif"), ("dark", "#shapes")):
            tab = browser.new_page(viewport=SIZE, color_scheme=scheme, reduced_motion="reduce")
            tab.goto((folder / "report.html").as_uri())
            tab.wait_for_selector("#flips li")
            tab.evaluate("place => document.querySelector(place).scrollIntoView()", place)
            tab.wait_for_timeout(300)
            pictures.append(matplotlib.image.imread(BytesIO(tab.screenshot()), format="png")[:, :, :3])
    matplotlib.image.imsave(HERE.with_suffix(".png"), np.hstack(pictures))


if __name__ == "__main__":
    main()
