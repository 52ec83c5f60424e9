"""Working in the annotation pages as a person does: by mouse, by keys, and by looking at what the page says."""

from playwright.sync_api import Page, expect

from tests.annotate.serving import AnnotationServer, LocalServer

# A busy machine is no reason to fail.
expect.set_options(timeout=20_000)


def add_recipe(
    page: Page,
    server: AnnotationServer | LocalServer,
    layer: str,
    recipe: str,
    title: str,
    ingredients: str,
    instructions: str,
) -> None:
    """Fill in the page for a new recipe; its words are then open."""
    page.goto(f"{server.url}/new?layer={layer}")
    for name, text in (("id", recipe), ("title", title), ("ingredients", ingredients), ("instructions", instructions)):
        page.locator(f"#new-{name}").fill(text)
    page.get_by_role("button", name="Add the recipe").click()
    page.wait_for_url(f"**/{recipe}/**")


def open_step(page: Page, server: AnnotationServer, recipe: str, step: str, layer: str = "alice") -> None:
    page.goto(f"{server.url}/r/{recipe}/{step}?layer={layer}")
    expect(page.locator(f".step-{step}")).to_be_visible()
    if page.locator("[data-entity]").count():
        page.locator("[data-entity]").first.wait_for()


def expect_saved(page: Page) -> None:
    expect(page.locator(".save-state")).to_have_attribute("data-state", "saved", timeout=30_000)


def word(page: Page, word_id: str):
    return page.locator(f'.text-scroller [data-word="{word_id}"]')


def entity(page: Page, entity_id: str):
    return page.locator(f'.text-scroller [data-entity="{entity_id}"]')


def drag(page: Page, start, end) -> None:
    """Press on one element, move to another, let go."""
    _centre(end)
    (from_x, from_y), (to_x, to_y) = _centre(start), _centre(end)
    page.mouse.move(from_x, from_y)
    page.mouse.down()
    page.mouse.move((from_x + to_x) / 2, (from_y + to_y) / 2)
    page.mouse.move(to_x, to_y)
    page.mouse.up()


def _centre(element) -> tuple[float, float]:
    """Where it is once it is in view. An answer may draw it anew at any time: then it is sought again."""
    measure = """(found) => {
        found.scrollIntoView({ block: "nearest" });
        const box = found.getBoundingClientRect();
        return found.isConnected ? [box.x + box.width / 2, box.y + box.height / 2] : null; }"""
    while (place := element.evaluate(measure)) is None:
        pass
    return tuple(place)


def tag_words(page: Page, section: int, line: int, start: int, end: int, tag: str) -> None:
    """Select words by click or drag, and take the tag from the choice beside them."""
    first = word(page, f"{section}-{line}-{start}")
    if end == start + 1:
        first.click()
    else:
        drag(page, first, word(page, f"{section}-{line}-{end - 1}"))
    page.locator(f'.floating [data-tag="{tag}"]').click()
    expect(entity(page, f"{section}-{line}-{start}")).to_have_attribute("data-tag", tag)


def draw_flow(page: Page, start: str, end: str, label: str, by_drag: bool = False) -> None:
    """Click start and end (or drag between them), and take the label from the choice."""
    if by_drag:
        drag(page, entity(page, start), entity(page, end))
    else:
        entity(page, start).click()
        entity(page, end).click()
    page.locator(f'.label-choice [data-label="{label}"]').click()
    expect(page.locator(f'.arc[data-flow="{start}>{end}:{label}"]')).to_have_count(1)


def set_side(page: Page, side: str, frame: int | None) -> None:
    """Click a frame and then Before or After; None clicks "Not visible"."""
    if frame is None:
        page.locator(f'.side-card[data-side="{side}"] [data-tool="hidden"]').click()
        return
    page.locator(f'.thumb[data-number="{frame}"]').click()
    page.locator(f'[data-set="{side}"]').click()
