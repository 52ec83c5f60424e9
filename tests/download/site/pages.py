"""A recipe as the page of a web site that never normalised anything: half-width, with spaces and line breaks."""

import html
import json
import unicodedata

from recipeflow.release.recipe import Recipe


def page_fields(recipe: Recipe) -> dict:
    """The fields from which the release's text of this recipe was made."""
    items: list[dict] = []
    headings: dict[str, int] = {}
    for line in recipe.ingredients:
        heading, name = _split_heading(_narrow(line.text))
        if heading is not None and heading not in headings:
            headings[heading] = 100 + len(headings)
            items.append({"type": "heading", "id": headings[heading], "title": heading})
        middle = len(name) // 2
        items.append(
            {
                "type": "ingredients",
                "name": name[:middle],
                "quantity-amount": f"\u3000{name[middle:]}\r\n",
                "group-id": headings.get(heading),
            }
        )
    steps = [_split_label(_narrow(line.text)) for line in recipe.instructions]
    return {
        "title": f" {_narrow(recipe.title)}",
        "ingredients": items,
        "instructions": [{"sort-order": order, "body": f"{body[:5]}\r\n{body[5:]} "} for order, body in steps],
    }


def state_page(fields: dict, video: str | None) -> str:
    """The page with the JSON state that the authors read."""
    state = {"state": {"fetchVideo": {"data": {"data": {"attributes": fields}}}, "other": None}}
    script = json.dumps(state, ensure_ascii=False).replace("</", "<\\/")
    source = f'<video src="{html.escape(video)}"></video>' if video else ""
    return _document(f"{source}<script>window.a = 1;</script><script>var ssrContext = {script};\nrun();</script>")


def json_ld_page(fields: dict, video: str | None) -> str:
    """The page with what search engines read, and no numbers: headings stand before the names."""
    headings = {item["id"]: item["title"] for item in fields["ingredients"] if item["type"] == "heading"}
    ingredients = []
    for item in fields["ingredients"]:
        if item["type"] == "ingredients":
            heading = headings.get(item["group-id"])
            start = "" if heading is None else f"({heading}) "
            ingredients.append(f"{start}{item['name']} {item['quantity-amount']}")
    steps = [{"@type": "HowToStep", "text": html.escape(step["body"])} for step in fields["instructions"]]
    recipe = {"@type": ["Recipe"], "name": fields["title"], "recipeIngredient": ingredients}
    recipe |= {"recipeInstructions": steps, "video": {"@type": "VideoObject", "contentUrl": video}}
    graph = {"@context": "https://schema.org", "@graph": [{"@type": "WebPage"}, recipe]}
    script = json.dumps(graph).replace("/", "\\/")
    return _document(f'<script type="application/ld+json">\n{script}\n</script>')


def _document(body: str) -> str:
    return f"<!DOCTYPE html><html><head><title>レシピ</title></head><body><p>こんにちは{body}</body></html>"


def _narrow(text: str) -> str:
    """Undo the release's normalisation as far as that can be undone."""
    return unicodedata.normalize("NFKC", text)


def _split_heading(line: str) -> tuple[str | None, str]:
    if not line.startswith("("):
        return None, line
    heading, _, name = line[1:].partition(")")
    return heading, name


def _split_label(line: str) -> tuple[int, str]:
    label, _, body = line.partition(".")
    return (0 if label == "準備" else int(label)), body
