"""Make up a salad: which ingredients, which cuts, what is cooked, how it is dressed and served.

The probabilities are set so that a kitchen of 200 recipes has the official release's statistics (ingredients,
instructions, objects, shares of tags and labels); ``tests/kitchen/test_statistics.py`` checks them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from recipeflow.kitchen.pantry import PANTRY, Dressing, Ingredient, Shelf, Words, open_shelf
from recipeflow.kitchen.plan import ListedIngredient, Plan, Timing
from recipeflow.kitchen.verbs import CONTAINER_WORDS, CUT_MANNERS, CUT_VERBS, TRIM_VERBS, Phrase
from recipeflow.kitchen.world import BOARD, BOWL, PAN, PLATE, POT, SIEVE, SMALL_BOWL, Portion, Stuff

SALTED = ("きゅうり", "キャベツ", "大根", "紫キャベツ", "白菜", "にんじん")
SOAKED = ("玉ねぎ", "紫玉ねぎ", "新玉ねぎ", "ごぼう", "れんこん", "水菜", "レタス", "りんご")
MASHED = ("じゃがいも", "さつまいも", "かぼちゃ", "里芋")
OILS = ("サラダ油", "ごま油", "オリーブオイル")
SALT = "塩"

WATER_NOTE = Phrase(("茹で", "用"), "for boiling")
NOTES = (Phrase(("正味",), "net"), Phrase(("小",), "small"), Phrase(("生食", "用"), "to eat raw"))
FIRES = (Phrase(("中火",), "medium heat"), Phrase(("強火",), "high heat"), Phrase(("弱火",), "low heat"))
MICROWAVE = Phrase(("電子", "レンジ"), "microwave")
POWERS = (Phrase(("５００", "Ｗ"), "500 W"), Phrase(("６００", "Ｗ"), "600 W"))
HOT_WATER_PART = Phrase(("お湯",), "hot water")
MOISTURE = Phrase(("水気",), "moisture")
COOLED = Timing(Phrase(("粗熱",), "residual heat"), Phrase(("取れ",), "is gone"), ("た", "ら"))
BOILING = Timing(None, Phrase(("沸騰",), "boils"), ("し", "た", "ら"))
SOFT = Timing(Phrase(("全体",), "the whole"), Phrase(("しんなり",), "softens"), ("し", "た", "ら"))
SETTLED = Timing(Phrase(("味",), "the taste"), Phrase(("なじ",), "settles in"), ("ん", "だ", "ら"))


def plan_recipe(rng: Random, pantry: str = "all") -> Plan:
    """Make up one recipe, with all ingredients or with one half of them."""
    return Cook(rng, open_shelf(pantry)).plan_recipe()


class Cook:
    """Writes one plan, from a pantry and a random generator."""

    def __init__(self, rng: Random, shelf: Shelf) -> None:
        self.rng = rng
        self.shelf = shelf
        self.plan = Plan()
        self.dressing = rng.choice(shelf.dressings)

    def plan_recipe(self) -> Plan:
        """List, prepare, cut, treat, dress and serve."""
        mains = self.choose_mains()
        numbers = {main.name: self.list_ingredient(main, BOARD) for main in mains}
        self.prepare(mains, numbers)
        self.cut_all(mains, numbers)
        ready = self.treat_all(mains, numbers)
        salad = self.dress(ready)
        self.serve(salad)
        self.name_dish(mains)
        return self.plan

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self.rng.random() < probability

    # The ingredient list.

    def choose_mains(self) -> list[Ingredient]:
        """Two to five foods, common ones more often, at least two of which can be cut."""
        count = self.rng.choices((2, 3, 4, 5), (0.22, 0.50, 0.24, 0.04))[0]
        while True:
            # Weighted and without replacement: a common food gets more draws, and keeps the best one.
            mains = sorted(self.shelf.foods, key=lambda food: self.rng.random() ** (1 / food.common), reverse=True)[
                :count
            ]
            if sum(bool(main.cuts) for main in mains) >= 2 and len({main.words[-1] for main in mains}) == count:
                return mains

    def list_ingredient(
        self, item: Ingredient, container: str, heading: str | None = None, note: Phrase | None = None
    ) -> int:
        """Add a line to the ingredient list and the thing itself to the kitchen."""
        number = self.plan.place(Stuff((Portion(item.name),), container))
        if note is None and item.group == "food" and self.chance(0.4):
            note = self.rng.choice(NOTES)
        amount = self.rng.choice(item.amounts)
        weight = self.weight(amount) if item.group == "food" and self.chance(0.12) else None
        line = ListedIngredient(item, amount, number, heading, note, weight)
        self.plan.ingredients.append(line)
        return number

    def weight(self, amount: Words) -> Words | None:
        """A weight after a count, as in １個（１００ｇ）."""
        return None if amount[-1] == "ｇ" else (self.rng.choice(("５０", "１００", "１５０", "２００")), "ｇ")

    # Preparation and cutting.

    def prepare(self, mains: Sequence[Ingredient], numbers: dict[str, int]) -> None:
        """Remove what is not eaten, in a separate line before the first."""
        candidates = [main for main in mains if main.parts]
        if not candidates or not self.chance(0.66):
            return
        self.plan.has_preparation = True
        self.plan.begin_instruction()
        for main in candidates[: self.rng.choices((1, 2, 3), (0.42, 0.40, 0.18))[0]]:
            self.trim(main, numbers)

    def trim(self, main: Ingredient, numbers: dict[str, int]) -> None:
        """Take off peel, core, stem or the like."""
        part = self.rng.choice(main.parts)
        english, verb = TRIM_VERBS[part]
        (numbers[main.name],) = self.plan.do(verb, [numbers[main.name]], part=Phrase((part,), english))

    def cut_all(self, mains: Sequence[Ingredient], numbers: dict[str, int]) -> None:
        """Cut what can be cut, in one or two lines; foods that get the same cut share the verb."""
        waiting = [main for main in mains if main.cuts]
        half = len(waiting) if len(waiting) < 3 or self.chance(0.56) else (len(waiting) + 1) // 2
        for batch in (waiting[:half], waiting[half:]):
            if batch:
                self.plan.begin_instruction()
                self.cut_batch(batch, numbers)

    def cut_batch(self, batch: Sequence[Ingredient], numbers: dict[str, int]) -> None:
        """Cut a few foods one after the other, or two at once where they allow the same form."""
        waiting = list(batch)
        while waiting:
            main = waiting.pop(0)
            form = self.rng.choice(main.cuts)
            together = [main]
            partner = next((other for other in waiting if form in other.cuts), None)
            if partner is not None and self.chance(0.8):
                waiting.remove(partner)
                together.append(partner)
            elif self.is_whole(main, numbers) and main.parts and self.chance(0.5):
                self.trim(main, numbers)
            made = self.cut(form, [numbers[food.name] for food in together])
            numbers.update(zip((food.name for food in together), made, strict=True))

    def is_whole(self, main: Ingredient, numbers: dict[str, int]) -> bool:
        """Whether nothing was removed from it yet."""
        return not self.plan.stuff[numbers[main.name]].portions[0].marks

    def cut(self, form: str, objects: Sequence[int]) -> tuple[int, ...]:
        """Cut, either with the verb named after the form or with 切る and a manner."""
        named = CUT_VERBS.get(form)
        if named is not None and (form not in CUT_MANNERS or self.chance(0.18)):
            tool = Phrase(("小房",), "florets") if form == "florets" else None
            return self.plan.do(named, objects, location=BOARD, manner=tool)
        return self.plan.do("切る", objects, location=BOARD, form=form, manner=self.rng.choice(CUT_MANNERS[form]))

    # Heat, water and salt.

    def treat_all(self, mains: Sequence[Ingredient], numbers: dict[str, int]) -> list[int]:
        """Cook, salt or soak some of the foods; returns what goes into the salad."""
        rest = list(mains)
        boiled = self.take_to_heat(rest, "boiled", 0.3, 2)
        fried = self.take_to_heat(rest, "fried", 0.25, 3)
        microwaved = self.take_to_heat(rest, "microwaved", 0.4, 1)
        salty = SALTED if SALT in self.shelf.names else ()
        salted = [main for main in rest if main.name in salty and main.cuts and self.chance(0.3)][:1]
        soaked = [main for main in rest if main.name in SOAKED and main not in salted and self.chance(0.3)][:1]
        ready = []
        for foods, treat in (
            ([main for main in boiled if main.shape != "eggs"], self.boil),
            ([main for main in boiled if main.shape == "eggs"], self.boil),
            (fried, self.fry),
            (microwaved, self.microwave),
            (salted, self.salt),
            (soaked, self.soak),
        ):
            if foods:
                self.plan.begin_instruction()
                ready.append(treat(foods, [numbers[food.name] for food in foods]))
                rest = [main for main in rest if main not in foods]
        return [*(numbers[main.name] for main in rest), *ready]

    def take_to_heat(self, rest: list[Ingredient], heat: str, probability: float, limit: int) -> list[Ingredient]:
        """Choose what is cooked in this way and take it off the list; what must be cooked always is."""
        able = [main for main in rest if heat in main.heats]
        taken = [main for main in able if _must_be_cooked(main)]
        optional = [main for main in able if main not in taken and self.chance(probability)]
        taken += optional[: max(0, limit - len(taken))]
        rest[:] = [main for main in rest if main not in taken]
        return taken

    def boil(self, foods: Sequence[Ingredient], objects: list[int]) -> int:
        """鍋にお湯を沸かし、茹で、お湯を切ります。"""
        water = self.list_ingredient(PANTRY["お湯"], POT, note=WATER_NOTE if self.chance(0.8) else None)
        (hot,) = self.plan.do("沸かす", [water], location=POT, container=CONTAINER_WORDS["pot"])
        timing = BOILING if self.chance(0.2) else None
        minutes = self.minutes(2, 7, 0.7)
        (cooked,) = self.plan.do("茹でる", objects, into=hot, location=POT, duration=minutes, timing=timing)
        sieve = CONTAINER_WORDS["sieve"] if self.chance(0.25) else None
        if sieve:
            (drained,) = self.plan.do("水気を切る", [cooked], location=SIEVE, part=HOT_WATER_PART, tool=sieve)
        else:
            (drained,) = self.plan.do("水気を切る", [cooked], location=BOWL, part=HOT_WATER_PART)
        if foods[0].shape == "eggs":
            (drained,) = self.plan.do("剥く", [drained], location=BOARD, part=Phrase(("殻",), TRIM_VERBS["殻"][0]))
            (drained,) = self.cut(self.rng.choice(("halved", "quartered")), [drained])
        elif len(foods) == 1 and foods[0].name in MASHED and self.chance(0.7):
            (drained,) = self.plan.do("潰す", [drained], location=BOWL)
        elif self.chance(0.3):
            (drained,) = self.plan.do("冷ます", [drained])
        return drained

    def fry(self, foods: Sequence[Ingredient], objects: list[int]) -> int:
        """フライパンに油をひき、中火で炒めます。"""
        name = self.rng.choice(self.shelf.among(OILS))
        oil = self.list_ingredient(PANTRY[name], SMALL_BOWL)
        (hot,) = self.plan.do("ひく", [oil], location=PAN, container=CONTAINER_WORDS["pan"])
        fire = self.rng.choice(FIRES)
        if self.chance(0.4):
            (hot,) = self.plan.do("熱する", [hot], tool=fire)
            fire = None
        (fried,) = self.plan.do("炒める", objects, into=hot, location=PAN, tool=fire, duration=self.minutes(3, 5, 0.4))
        return fried

    def microwave(self, foods: Sequence[Ingredient], objects: list[int]) -> int:
        """ボウルに入れ、６００Ｗの電子レンジで３分加熱します。"""
        bowl = CONTAINER_WORDS["bowl"]
        (inside,) = self.plan.do("入れる", objects, location=BOWL, container=bowl)
        power = self.rng.choice(POWERS)
        (hot,) = self.plan.do("加熱する", [inside], tool=MICROWAVE, power=power, duration=self.minutes(2, 6))
        if foods[0].name in MASHED and self.chance(0.7):
            (hot,) = self.plan.do("潰す", [hot])
        return hot

    def salt(self, foods: Sequence[Ingredient], objects: list[int]) -> int:
        """塩をふり、もみ込み、水気を絞ります。"""
        salt = self.list_ingredient(PANTRY[SALT], SMALL_BOWL, note=Phrase(("塩", "もみ", "用"), "for rubbing in"))
        (sprinkled,) = self.plan.do("ふる", [salt], into=objects[0], location=BOWL)
        (rubbed,) = self.plan.do("もみ込む", [sprinkled], duration=self.minutes(5, 10, 0.3))
        (squeezed,) = self.plan.do("絞る", [rubbed], part=MOISTURE)
        return squeezed

    def soak(self, foods: Sequence[Ingredient], objects: list[int]) -> int:
        """冷水にさらし、水気を切ります。"""
        water = self.plan.place(Stuff((Portion("冷水"),), BOWL))
        (soaked,) = self.plan.do("さらす", objects, into=water, location=BOWL, duration=self.minutes(5, 10, 0.6))
        verb = self.rng.choice(("水気を切る", "拭き取る"))
        (drained,) = self.plan.do(verb, [soaked], location=BOWL, part=MOISTURE)
        return drained

    def minutes(self, low: int, high: int, probability: float = 1.0) -> Phrase | None:
        """A duration, or none."""
        if not self.chance(probability):
            return None
        count = self.rng.randint(low, high)
        wide = "".join(chr(ord(digit) + 0xFEE0) for digit in str(count))
        about = ("程",) if self.chance(0.4) else ()
        return Phrase((wide, "分", *about), f"{'about ' if about else ''}{count} min")

    # Dressing and serving.

    def dress(self, ready: Sequence[int]) -> int:
        """Mix the seasonings, then bring everything together."""
        first = self.list_group("Ａ", self.dressing, self.rng.choices((2, 3, 4, 5), (0.12, 0.38, 0.36, 0.14))[0])
        self.plan.begin_instruction()
        bowl = CONTAINER_WORDS["bowl"]
        (together,) = self.plan.do("入れる", first, location=BOWL, container=bowl)
        verb = self.rng.choice(("混ぜ合わせる", "混ぜる"))
        (sauce,) = self.plan.do(verb, [together])
        if self.chance(0.4):
            self.plan.begin_instruction()
        timing = COOLED if self.was_heated(ready) and self.chance(0.35) else None
        (added,) = self.plan.do("加える", ready, into=sauce, location=BOWL, timing=timing)
        (salad,) = self.plan.do(self.rng.choice(("和える", "和える", "絡める", "混ぜ合わせる")), [added])
        if self.chance(0.16):
            (salad,) = self.plan.do("冷やす", [salad], duration=self.minutes(10, 30))
        return salad

    def list_group(self, heading: str, dressing: Dressing, count: int) -> list[int]:
        """List seasonings under a heading."""
        head, *others = dressing.seasonings
        chosen = [head, *self.rng.sample(others, min(count - 1, len(others)))]
        return [self.list_ingredient(PANTRY[name], SMALL_BOWL, heading) for name in chosen]

    def was_heated(self, numbers: Sequence[int]) -> bool:
        """Whether any of these was cooked."""
        return any(portion.heat != "raw" for number in numbers for portion in self.plan.stuff[number].portions)

    def serve(self, salad: int) -> None:
        """Onto the plate, with a topping or a second sauce on most."""
        self.plan.begin_instruction()
        timing = SETTLED if self.chance(0.22) else None
        (served,) = self.plan.do(
            "盛り付ける", [salad], location=PLATE, container=CONTAINER_WORDS["plate"], timing=timing
        )
        if self.chance(0.24):
            other = self.rng.choice([one for one in self.shelf.dressings if one.name != self.dressing.name])
            second = self.list_group("Ｂ", other, self.rng.choice((2, 3)))
            (served,) = self.plan.do("かける", second, into=served, location=PLATE)
        elif self.chance(0.6):
            topping = self.rng.choice(self.shelf.toppings)
            number = self.list_ingredient(topping, SMALL_BOWL)
            verb = self.rng.choice(("散らす", "のせる")) if topping.shape != "powder" else "散らす"
            (served,) = self.plan.do(verb, [number], into=served, location=PLATE)

    def name_dish(self, mains: Sequence[Ingredient]) -> None:
        """A title such as キャベツとハムのごまサラダ."""
        named = mains[: self.rng.choice((1, 2, 2))]
        self.plan.title = f"{'と'.join(main.name for main in named)}の{self.dressing.name}サラダ"
        names = " and ".join(main.english for main in named)
        self.plan.english_title = f"{self.dressing.english} salad of {names}"


def _must_be_cooked(main: Ingredient) -> bool:
    """Raw meat, eggs, noodles and potatoes are not eaten raw."""
    return main.shape in {"slab", "eggs", "curls"} or main.name in (*MASHED, "春雨", "マカロニ")
