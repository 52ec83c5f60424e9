"""Draws docs/images/task-*.jpg, a question of each task as ``vrf score --html`` shows it.

::

    python docs/making/task_pictures.py vrf-tasks
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))

from recipeflow.tasks.folder import TasksFolder
from recipeflow.tasks.scoring.page import write_page
from recipeflow.tasks.scoring.predictions import Predictions
from recipeflow.tasks.scoring.results import score
from tests.browser.chromium import FLAGS, find_chromium

IMAGES = Path(__file__).parents[1] / "images"
TALLEST = 1150
"""Pixels of a picture: a question with many pictures is cut off."""


def main(tasks: str) -> None:
    """Take a picture of the first card of every task."""
    folder = TasksFolder(tasks)
    answers = {
        row["id"]: {"answer": row["answer"], "path": row["path"]} if task == "dependency" else row["answer"]
        for task in folder.tasks("test")
        for row in folder.rows(task, "test")
    }
    right = Predictions("the right answer", answers)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        page_file = Path(scratch) / "score.html"
        write_page(page_file, folder, [right], [score(folder, right)], most=1)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": 900, "height": 1200})
        page.goto(page_file.as_uri())
        page.add_style_tag(content="form { display: none !important; }")
        for card in page.locator("article").all():
            picture = Image.open(io.BytesIO(card.screenshot(timeout=120_000))).convert("RGB")
            picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
            picture.save(IMAGES / f"task-{card.get_attribute('data-task')}.jpg", quality=80, optimize=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
