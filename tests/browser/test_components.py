"""The shared components, on a page of their own: what they draw of a recipe, and that its text never becomes HTML."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "recipeflow" / "web" / "static"
PAGE = """<!doctype html><html lang="en"><title>t</title><link rel="stylesheet" href="base.css">
<link rel="icon" href="data:,"><body><div id="host" class="arc-host"></div></body></html>"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        return self.wfile.write(PAGE.encode())


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=STATIC))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def view(actions=3, text="<img src=x onerror=alert(1)>"):
    """A recipe of one food and some actions, each fed by the one before; all words are hostile."""
    words = [{"id": f"1-0-{i}", "text": text, "start": i, "end": i + 1} for i in range(actions)]
    entities = [
        {"id": f"1-0-{i}", "tag": "Ac", "section": 1, "line": 0, "start": i, "end": i + 1, "text": text}
        for i in range(actions)
    ]
    food = {"id": "0-0-0", "tag": "F", "section": 0, "line": 0, "start": 0, "end": 1, "text": None}
    flows = [{"start": "0-0-0", "end": "1-0-0", "label": "Targ"}]
    flows += [{"start": f"1-0-{i}", "end": f"1-0-{i + 1}", "label": "Targ"} for i in range(actions - 1)]
    bare = {
        "name": "ingredients",
        "lines": [{"text": None, "words": [{"id": "0-0-0", "text": None, "start": 0, "end": 3}]}],
    }
    lines = [{"text": text * actions, "words": words}]
    return {
        "id": "r",
        "title": text,
        "url": None,
        "sections": [bare, {"name": "instructions", "lines": lines}],
        "entities": [food, *entities],
        "flows": flows,
        "objects": [],
    }


DRAW = """async (view) => {
  const { recipeText } = await import("./words.js");
  const { ArcLayer } = await import("./arcs.js");
  const host = document.getElementById("host");
  host.replaceChildren(recipeText(view));
  window.layer = new ArcLayer(host, { onPick: (flow) => { window.picked = flow; } });
  window.layer.draw(view.flows);
}"""


def test_text_is_shown_as_it_is(page, address):
    page.goto(address)
    page.evaluate(DRAW, view())
    assert page.locator("img").count() == 0
    assert page.locator('[data-word="1-0-1"]').text_content() == "<img src=x onerror=alert(1)>"
    assert page.locator('[data-word="0-0-0"]').text_content() == "▯▯▯"
    assert page.locator('[data-entity="1-0-2"]').get_attribute("data-tag") == "Ac"


def test_arcs_start_and_end_at_their_entities(page, address):
    page.goto(address)
    page.evaluate(DRAW, view(text="切る"))
    assert page.locator(".arc").count() == 3
    path = page.locator('[data-flow="0-0-0>1-0-0:Targ"] .arc-line').bounding_box()
    food = page.locator('[data-entity="0-0-0"]').bounding_box()
    action = page.locator('[data-entity="1-0-0"]').bounding_box()
    assert path["y"] == pytest.approx(food["y"] + food["height"], abs=4)
    assert path["y"] + path["height"] == pytest.approx(action["y"], abs=4)


def test_focus_and_filter(page, address):
    page.goto(address)
    page.evaluate(
        DRAW, view(text="切る") | {"flows": [{"start": "0-0-0", "end": "1-0-1", "label": "Dest"}, *view()["flows"]]}
    )
    page.evaluate("() => layer.focus((flow) => flow.label === 'Dest')")
    assert page.locator(".arc.meant").count() == 1
    assert page.locator(".arc-name").all_text_contents() == ["Dest"]
    page.evaluate("() => { layer.focus(null); layer.filter(new Set(['Targ'])); }")
    assert page.locator(".arc:visible").count() == 3


def test_no_label_covers_another(page, address):
    page.goto(address)
    many = view(actions=40, text="混ぜる")
    many["flows"] = [{"start": "0-0-0", "end": f"1-0-{i}", "label": "other-mod"} for i in range(40)]
    page.evaluate(DRAW, many)
    assert page.locator(".arc-name").count() == 0  # too many to name at once
    page.evaluate("() => layer.focus(() => true)")
    names = page.locator(".arc-name").evaluate_all("all => all.map((name) => name.getBoundingClientRect())")
    boxes = [(box["left"], box["top"] + 4, box["right"], box["bottom"] - 4) for box in names]
    assert len(boxes) > 5
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]


def test_picking_an_arc(page, address):
    page.goto(address)
    page.evaluate(DRAW, view(text="切る"))
    box = page.locator('[data-flow="1-0-0>1-0-1:Targ"] .arc-line').bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 1)
    assert page.evaluate("() => window.picked.label") == "Targ"


def test_tags_can_be_read_and_distinguished(page, address):
    """Text on every tag's ground has a contrast of 4.5:1 or more, and no two tags share ground and edge."""
    page.goto(address)
    colours = page.evaluate("""() => ["F","T","D","Q","Ac","Af","Sf","St"].map((tag) => {
      const span = document.createElement("span"); span.className = `entity tag-${tag}`; document.body.append(span);
      const style = getComputedStyle(span);
      return [style.color, style.backgroundColor, style.borderBottomColor]; })""")
    for ink, ground, edge in colours:
        assert contrast(ink, ground) >= 4.5
        assert contrast(edge, "rgb(255, 255, 255)") >= 3
    assert len({(ground, edge) for _, ground, edge in colours}) == 8


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
