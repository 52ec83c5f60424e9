"""What a portion is made of: its measures in pixels, its colours after all that was done to it, its inner pattern."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from recipeflow.kitchen.camera.drawing import WHITE, Finish, mix, rgb, tone
from recipeflow.kitchen.camera.look import RGB, Look, derive
from recipeflow.kitchen.pantry import PANTRY, Ingredient
from recipeflow.kitchen.world import Portion

TOMATO = 86.0
"""The size of a tomato in pixels, which all other sizes are relative to."""

FLUIDS = ("liquid", "paste", "powder")
OIL: RGB = (222, 190, 96)
COOKED_MEAT: RGB = (232, 216, 200)
MEATS = ("chicken breast", "chicken tenders", "pork belly", "salmon")
PEELS = ("皮", "さや")


@dataclass(frozen=True)
class Trait:
    """How one ingredient differs from others of its shape.

    Args:
        slim: Width of the whole thing relative to its length.
        section: The pattern on a cut across it.
        feature: What marks the whole thing: a stem, a cap, stripes.
        units: How many lie there when whole.
        parts: How many leaves, stems or buds one of them is drawn with.
    """

    slim: float = 1.0
    section: str = "plain"
    feature: str = ""
    units: int = 1
    parts: int = 5


SHAPE_TRAITS = {
    "long": Trait(0.28),
    "stalk": Trait(0.14),
    "pods": Trait(0.24, units=6),
    "head": Trait(0.92, "layers", "leafy"),
    "leaves": Trait(0.7, "leaf", "bunch"),
    "slab": Trait(0.6),
    "sheet": Trait(units=3),
    "curls": Trait(0.7, units=7),
    "eggs": Trait(0.78, "yolk", units=2),
    "grains": Trait(units=34),
    "strands": Trait(units=26),
    "flakes": Trait(0.6, units=26),
    "mushroom": Trait(0.9, "mushroom", "cluster", 1, 15),
    "floret": Trait(1.0, "floret"),
    "liquid": Trait(),
    "paste": Trait(),
    "powder": Trait(units=14),
    "ball": Trait(0.95),
}

TRAITS = {
    "napa cabbage": Trait(0.55, "layers", "leafy"),
    "leaf lettuce": Trait(0.75, "leaf", "frills", 2, 3),
    "mizuna": Trait(0.7, "leaf", "feathers", 1, 11),
    "garland chrysanthemum": Trait(0.7, "leaf", "lobes", 1, 7),
    "baby leaves": Trait(0.5, "leaf", "loose", 18),
    "shiso leaves": Trait(0.8, "leaf", "serrated", 4),
    "dried wakame": Trait(0.5, "leaf", "crumbs", 16),
    "carrot": Trait(0.25, "core", "taper"),
    "daikon radish": Trait(0.30, "core", "crown"),
    "burdock": Trait(0.09, "core", "taper"),
    "lotus root": Trait(0.42, "holes", "nodes"),
    "potato": Trait(0.78, "plain", "eyes"),
    "sweet potato": Trait(0.36, "plain", "spindle"),
    "taro": Trait(0.82, "plain", "bands"),
    "pumpkin": Trait(0.92, "pulp", "ribs"),
    "onion": Trait(0.95, "rings", "papery"),
    "red onion": Trait(0.95, "rings", "papery"),
    "spring onion bulb": Trait(0.95, "rings", "papery"),
    "Japanese leek": Trait(0.12, "rings", "leek"),
    "cucumber": Trait(0.17, "seeds", "bumps", 2),
    "tomato": Trait(0.95, "chambers", "calyx"),
    "cherry tomato": Trait(0.95, "chambers", "calyx", 6),
    "eggplant": Trait(0.36, "seeds", "cap"),
    "green pepper": Trait(0.8, "hollow", "lobes", 2),
    "red paprika": Trait(0.92, "hollow", "lobes"),
    "yellow paprika": Trait(0.92, "hollow", "lobes"),
    "zucchini": Trait(0.22, "seeds", "stub"),
    "asparagus": Trait(0.08, "plain", "spear", 4),
    "okra": Trait(0.26, "star", "okra", 6),
    "green beans": Trait(0.08, "plain", "bean", 8),
    "snap peas": Trait(0.26, "peas", "peas", 7),
    "bean sprouts": Trait(1.0, "plain", "sprouts", 30),
    "glass noodles": Trait(1.0, "plain", "noodles", 22),
    "shredded nori": Trait(1.0, "plain", "shreds", 16),
    "chives": Trait(1.0, "plain", "rings", 18),
    "celery": Trait(0.16, "plain", "celery"),
    "radish": Trait(0.9, "core", "leafstalk", 5),
    "enoki mushroom": Trait(0.6, "mushroom", "needles", 1, 34),
    "mushroom": Trait(0.95, "mushroom", "button", 4),
    "avocado": Trait(0.72, "pit", "pear"),
    "apple": Trait(0.97, "pips", "dimple"),
    "orange": Trait(0.97, "segments", "pores"),
    "kiwi fruit": Trait(0.8, "kiwi", "fuzz"),
    "chicken breast": Trait(0.55, "plain", "drop"),
    "chicken tenders": Trait(0.28, "plain", "drop", 2),
    "pork belly": Trait(0.34, "stripes", "stripes", 4),
    "bacon": Trait(0.2, "stripes", "stripes", 4),
    "salmon": Trait(0.62, "lines", "lines"),
    "crab sticks": Trait(0.17, "crab", "crab", 4),
    "silken tofu": Trait(0.78, "plain", "block"),
    "thick fried tofu": Trait(0.66, "plain", "block"),
    "cream cheese": Trait(0.62, "plain", "block"),
    "mixed beans": Trait(0.66, "plain", "beans", 34),
    "corn": Trait(0.85, "plain", "kernels", 40),
    "edamame": Trait(0.72, "plain", "kernels", 30),
    "macaroni": Trait(0.45, "plain", "tubes", 28),
    "croutons": Trait(1.0, "plain", "cubes", 18),
    "bonito flakes": Trait(0.55, "plain", "curls", 20),
}


@dataclass(frozen=True)
class Body:
    """One portion as the pen needs to know it."""

    shape: str
    form: str
    trait: Trait
    length: float
    width: float
    skin: RGB
    flesh: RGB
    stem: RGB
    trimmed: bool
    cooked: bool
    unit: float
    finish: Finish
    limp: float


def body_of(look: Look, portion: Portion, sauce: RGB | None, scale: float = 1.0) -> Body:
    """Everything the pen needs to know about a portion.

    Args:
        look: The recipe's look, which decides on the shade and size of this kitchen's tomato.
        portion: What is to be drawn.
        sauce: The colour of the dressing it lies in, if it is mixed with one.
        scale: The share of its usual size at which it is drawn.
    """
    item = PANTRY[portion.ingredient]
    trait = TRAITS.get(item.english, SHAPE_TRAITS[item.shape])
    rng = random.Random(derive("shade", look.seed, portion.ingredient))
    size = rng.uniform(0.86, 1.12)
    skin, flesh = (_shade(rng, rgb(code)) for code in (item.skin, item.flesh))
    trimmed = "trimmed" in portion.marks
    if trimmed and any(part in PEELS for part in item.parts):
        skin = mix(flesh, tone(skin, 1.0), 0.12)
    skin, flesh = (_treated(colour, item, portion, sauce) for colour in (skin, flesh))
    tomato = TOMATO * look.zoom * scale
    length = tomato * item.size * size * _stretch(item)
    return Body(
        shape=item.shape,
        form=portion.form,
        trait=trait,
        length=length,
        width=length * trait.slim,
        skin=skin,
        flesh=flesh,
        stem=_treated((92, 140, 62), item, portion, None),
        trimmed=trimmed,
        cooked=portion.heat != "raw",
        unit=tomato * size**0.5,
        finish=_finish(portion, sauce),
        limp=_limp(portion),
    )


def _stretch(item: Ingredient) -> float:
    """Long things are longer than a tomato's size says, and things that come in dozens are smaller."""
    many = item.shape == "grains" and not item.cuts
    return {
        "long": 1.3,
        "stalk": 1.3,
        "leaves": 1.25,
        "mushroom": 1.25,
        "slab": 1.15,
        "grains": 0.56 if many else 0.9,
    }.get(item.shape, 1.0)


def _shade(rng: random.Random, colour: RGB) -> RGB:
    """This kitchen's shade of a colour: a little lighter, paler or warmer than the next kitchen's."""
    warm = rng.uniform(-7, 7)
    red, green, blue = tone(colour, rng.uniform(0.93, 1.06), rng.uniform(0.86, 1.12))
    red, green, blue = (round(max(0, min(255, c))) for c in (red + warm, green, blue - warm))
    return red, green, blue


def _treated(colour: RGB, item: Ingredient, portion: Portion, sauce: RGB | None) -> RGB:
    """The colour after heat, water, cold and sauce."""
    if portion.heat == "boiled":
        colour = mix(colour, COOKED_MEAT, 0.6) if item.english in MEATS else tone(colour, 0.98, 1.28)
        colour = mix(colour, (238, 120, 70), 0.35) if item.shape == "curls" else colour
    elif portion.heat == "fried":
        colour = mix(tone(colour, 0.86, 1.05), (150, 88, 34), 0.26)
    elif portion.heat == "microwaved":
        colour = tone(mix(colour, COOKED_MEAT, 0.5) if item.english in MEATS else colour, 0.9, 0.74)
    if portion.marks & {"soaked", "squeezed"}:
        colour = tone(colour, 0.9, 1.12)
    if "chilled" in portion.marks:
        colour = mix(colour, (196, 222, 250), 0.24)
    if sauce is not None:
        return mix(colour, sauce, 0.24)
    return mix(colour, OIL, 0.2) if "dressed" in portion.marks else colour


def _finish(portion: Portion, sauce: RGB | None) -> Finish:
    marks = portion.marks
    wet = 0.4 * len(marks & {"soaked", "washed", "drained"}) + 0.7 * ("dressed" in marks) + 0.3 * (sauce is not None)
    wet += {"raw": 0.0, "boiled": 0.35, "fried": 0.3, "microwaved": 0.1}[portion.heat]
    return Finish(
        relief=0.75 if portion.heat in ("boiled", "microwaved") else 1.0,
        brown=0.5 if portion.heat == "fried" else 0.0,
        gloss=min(1.0, 0.2 + wet),
        salt=0.9 if "salted" in marks and not marks & {"squeezed", "dressed"} else 0.0,
        drops=min(1.0, 0.6 * len(marks & {"washed", "chilled"}) + 0.35 * (portion.heat == "microwaved")),
    )


def _limp(portion: Portion) -> float:
    """How much smaller a heap has become: wilted by salt and heat, pressed by hand."""
    loss = 0.26 * ("squeezed" in portion.marks) + 0.1 * ("salted" in portion.marks) + 0.1 * (portion.heat != "raw")
    return 1.0 - loss


def sauce_of(portions: Sequence[Portion]) -> RGB | None:
    """The colour of the dressing that these portions make together; pastes colour more than thin liquids."""
    weights = {"liquid": 1.0, "paste": 1.6}
    found = [PANTRY[p.ingredient] for p in portions if PANTRY[p.ingredient].shape in weights]
    found = [item for item in found if item.group != "water"]
    if not found:
        return None
    total = sum(weights[item.shape] for item in found)
    red, green, blue = (
        round(sum(weights[item.shape] * rgb(item.skin)[k] for item in found) / total) for k in range(3)
    )
    return mix((red, green, blue), WHITE, 0.05)
