"""What will it look like? A page that asks Visual Recipe Flow models for pictures from after a cooking action.

This file needs only the packages of `requirements.txt`: models, their code and the pictures they search come
from the Hub, or from folders. It is configured by environment variables, which are variables of a Space:

    VRF_MODEL    one or more models with an index, by folder or by name on the Hub, separated by commas
    VRF_DATASET  optional: the dataset to take examples from, by folder or by name on the Hub
    VRF_PARSER   optional: parsers by folder or by name on the Hub, for sentences and the storyboard
    VRF_FOLD     optional: take examples from this fold only, the one that the models were not trained on
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import datasets
import gradio as gr
from PIL import Image
from plain_words import example_sentences, load_parsers, sentence_input, storyboard_tab, understand
from transformers import pipeline

TASK = "post-action-retrieval"
FORMATS = ("JPEG", "PNG", "WEBP")
WORDS = {"action": "verb", "object": "object"}
NEEDS = {"action": "a verb", "object": "an object", "image": "a picture"}
EXAMPLES, LOOKED_AT = 12, 3000
"""Examples shown, and rows of the dataset that are searched for them."""

NO_PICTURE = "Asked without a picture: it uses only the words, "
TRAINED_SO = "as it did for {share:.0%} of the queries in training."
NOT_TRAINED_SO = "but it may always have had a picture in training."
IGNORED = " It ignores the picture, because it was trained on words alone."
NO_CONTEXT = " It was trained with more words of the recipe, which this page does not provide."
HEADING = """# What will it look like?
Choose a cooking verb and an object, add a picture from **before**, and see which pictures from **after** it
the models find. Based on [Visual Recipe Flow](https://github.com/kskshr/Visual-Recipe-Flow), dataset and paper."""


class SetupError(Exception):
    """The Space is not set up correctly."""


# Models.


@dataclass(frozen=True)
class Model:
    """A model with the pictures that it searches."""

    name: str
    pipe: Any  # a Pipeline of the code in the model's repository

    @property
    def inputs(self) -> list[str]:
        """The parts of its queries: some of action, object and image."""
        return list(self.pipe.model.config.inputs)

    @property
    def title(self) -> str:
        """The inputs in words."""
        return " + ".join({"image": "picture from before"}.get(name) or WORDS[name] for name in self.inputs)

    @cached_property
    def vocabulary(self) -> set[str]:
        return set(self.pipe.processor.tokenizer.get_vocab())

    def missed(self, phrase: str) -> list[str]:
        """The words of a phrase that it does not know in any form, so that it cannot distinguish them."""
        find = getattr(self.pipe.processor, "missed_words", None)  # missing in models of earlier versions
        return list(find([phrase])) if find else [word for word in phrase.split() if not self.knows(word)]

    def knows(self, word: str) -> bool:
        """Whether it has seen a word in exactly this form."""
        return self.pipe.processor.tokenizer.backend_tokenizer.normalizer.normalize_str(word) in self.vocabulary


def load_models(names: str) -> list[Model]:
    """Load the models in `VRF_MODEL`.

    Raises:
        SetupError: If it is empty, or one of them cannot be loaded.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise SetupError(
            "expected the environment variable VRF_MODEL to name a model with an index, found none; set it to a "
            "folder such as run/model, or to OWNER/NAME on the Hub, or to several, separated by commas"
        )
    return [_load_model(name) for name in wanted]


def _load_model(name: str) -> Model:
    try:
        found: Any = pipeline  # its annotations know only the tasks of transformers
        return Model(name, found(TASK, model=name, trust_remote_code=True))
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise SetupError(
            f"expected a model with an index in {name!r} (VRF_MODEL), found: {type(error).__name__}: {error}; train "
            "one with `vrf train`, and index it with `vrf index`"
        ) from error


# Words.


def choices(models: Sequence[Model], part: str) -> list[tuple[str, str]]:
    """The verbs or objects of the models' pictures that all models know, the most frequent first.

    A phrase is shown as written, and passed on in words that the models know.
    """
    asked = [model for model in models if part in model.inputs]
    counts: dict[str, int] = {}
    for model in asked:
        column = model.pipe.index.rows["objects" if part == "object" else part]
        for value in column:
            for phrase in value if isinstance(value, list) else [value] * (value is not None):
                counts[phrase] = counts.get(phrase, 0) + 1
    found = []
    for phrase in sorted(counts, key=lambda phrase: (-counts[phrase], phrase)):
        words = [split_words(phrase, model) for model in asked]
        if all(words):
            found.append((phrase, " ".join(words[0])))
    return found


def split_words(phrase: str, model: Model) -> list[str]:
    """A phrase as the fewest words that a model knows, as Japanese is written without spaces; empty if impossible."""
    best: list[list[str] | None] = [[]] + [None] * len(phrase)
    for end in range(1, len(phrase) + 1):
        for start in range(end):
            word, before, shortest = phrase[start:end], best[start], best[end]
            if before is None or (shortest is not None and len(shortest) <= len(before) + 1):
                continue
            if model.knows(word):
                best[end] = [*before, word]
    return best[-1] or []


# Examples.


@dataclass(frozen=True)
class Example:
    """A row of the dataset: a query, and the recipe's own picture."""

    picture: str
    action: str
    object: str
    recipe: str
    frame: int

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies an example when it is asked."""
        return digest(self.picture), self.action, self.object


def digest(path: str) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def load_examples(name: str, fold: int | None, models: Sequence[Model], folder: Path) -> list[Example]:
    """Rows with both pictures that all models can use, of different verbs and recipes if possible.

    Raises:
        SetupError: If there is no such dataset.
    """
    try:
        rows = datasets.load_dataset(name, "image_pairs", split="train", streaming=True)
        rows = rows.cast_column("pre_image", datasets.Image(decode=False)).remove_columns("post_image")
        taken = list(_varied(rows.take(LOOKED_AT), fold, models))
    except (OSError, ValueError, KeyError) as error:
        raise SetupError(
            f"expected a dataset with image_pairs in {name!r} (VRF_DATASET), found: {type(error).__name__}: {error}; "
            "build one with `vrf build`, or unset VRF_DATASET"
        ) from error
    found = []
    for number, (row, action, thing) in enumerate(taken):
        path = folder / f"example-{number}.jpg"
        path.write_bytes(row["pre_image"]["bytes"])
        found.append(Example(str(path), action, thing, row["recipe_id"], row["post_frame"]))
    return found


def _varied(rows: Iterable[dict], fold: int | None, models: Sequence[Model]) -> Iterable[tuple[dict, str, str]]:
    seen: dict[str, int] = {}
    readers = [model for model in models if "action" in model.inputs or "object" in model.inputs] or list(models)
    count = 0
    for row in rows:
        complete = row["pre_frame"] is not None and row["post_frame"] is not None and row["pre_image"] is not None
        if not complete or row["action"] is None or row["object"] is None or fold not in (None, row["fold"]):
            continue
        action, thing = (" ".join(split_words(row[part], readers[0])) for part in ("action", "object"))
        if not (action and thing) or seen.get(action, 0) >= 2 or seen.get(row["recipe_id"], 0) >= 4:
            continue
        for name in (action, row["recipe_id"]):
            seen[name] = seen.get(name, 0) + 1
        count += 1
        yield row, action, thing
        if count == EXAMPLES:
            return


# The page.


def check_picture(path: str) -> None:
    """Refuse what is not a picture before anything else reads it: not everything that Pillow opens is harmless."""
    try:
        with Image.open(path, formats=FORMATS) as image:
            image.load()
    except Exception as error:  # a damaged header can make Pillow's plugins raise nearly anything
        raise gr.Error(
            f"expected a picture as {', '.join(FORMATS)}, found a file that cannot be read as one "
            f"({type(error).__name__}); choose another",
            print_exception=False,
        ) from error


def picture_input(is_used: bool) -> gr.Image:
    """Gradio's image, which says what is wrong with an invalid file; a subclass would make Gradio write a file."""
    picture = gr.Image(
        type="filepath",
        image_mode=None,
        sources=["upload", "clipboard"],
        label="Before",
        alt_text="The picture from before the action",
        height=260,
        buttons=[],
        visible=is_used,
    )
    read = picture.preprocess

    def check_and_read(payload: Any) -> Any:
        if payload is not None and payload.path:
            check_picture(payload.path)
        return read(payload)

    picture.preprocess = check_and_read
    return picture


def without_picture(model: Model) -> str:
    """What to know about an answer to words alone: some models are trained for it, which their config says."""
    share = getattr(model.pipe.model.config, "image_dropout", 0)
    return NO_PICTURE + (TRAINED_SO.format(share=share) if share else NOT_TRAINED_SO)


def answer(model: Model, query: dict[str, str | None], count: int, own: tuple[str, int] | None) -> list[Any]:
    """A model's gallery, table and note for a query, of which it uses the parts it was trained with."""
    given = {name: query[name] for name in model.inputs if query[name] is not None}
    missing = [name for name in model.inputs if name not in given]
    if missing and (missing != ["image"] or len(model.inputs) == 1):
        needs = " and ".join(NEEDS[name] for name in missing)
        return [[], [], f"Not asked: this model needs {needs}."]
    rows = model.pipe(given, k=min(count, len(model.pipe.index)))
    gallery, table = [], []
    for rank, row in enumerate(rows, start=1):
        mark = "✓ " if own == (row["recipe_id"], row["frame"]) else ""
        recipe = row["title"] or row["recipe_id"]
        things = "、".join(row["objects"])
        gallery.append((row["image"].convert("RGB"), f"{mark}{rank}. {row['action']}"))
        table.append([f"{mark}{rank}", f"{row['score']:.3f}", row["action"], things, recipe, row["instruction"]])
    note = without_picture(model) if missing else f"The {len(rows)} nearest of {len(model.pipe.index)} pictures."
    if "image" in given and getattr(model.pipe.model.config, "ignores_image", False):
        note += IGNORED
    if getattr(model.pipe.model.config, "context", "none") != "none":
        note += NO_CONTEXT
    if own is not None:
        place = next((rank for rank, line in enumerate(table, start=1) if line[0].startswith("✓")), None)
        note += f" The recipe's own picture is number {place}." if place else " The recipe's own is not among them."
    return [gallery, table, note]


def make_search(models: Sequence[Model], examples: Sequence[Example], parsers: Sequence[Any] = ()) -> Any:
    """The function behind the button: words, a picture and a number to three components per model, and a note."""
    own_pictures = {example.key: (example.recipe, example.frame) for example in examples}
    readers = [model for model in models if {"action", "object"} <= set(model.inputs)]

    def search(
        picture: str | None, action: str | None, thing: str | None, count: int, sentence: str | None = None
    ) -> list[Any]:
        understood = ""
        if sentence and sentence.strip() and readers:
            request = understand(sentence, parsers, readers[0].pipe)
            action, thing = " ".join(request.action), " ".join(request.object)
            understood = ". ".join([f"Understood: **{escape(action)}** of **{escape(thing)}**", *request.notes])
        query = {"action": action or None, "object": thing or None, "image": picture}
        for part, called in WORDS.items():
            for model in models:
                words = (query[part] or "").strip() if part in model.inputs else ""
                if unknown := words and model.missed(words):
                    raise gr.Error(
                        f"expected a word that the models know as {called}, found {escape(', '.join(unknown))}; "
                        "choose from the list",
                        print_exception=False,
                    )
        own = own_pictures.get((digest(picture), action, thing)) if picture else None
        found = [answer(model, query, int(count), own) for model in models]
        if not any(gallery for gallery, _, _ in found):
            raise gr.Error(found[0][2].replace("Not asked: this", "Expected more: the"), print_exception=False)
        return [*(component for parts in found for component in parts), understood]

    return search


def build_page(
    models: Sequence[Model], examples: Sequence[Example], note: str, parsers: Sequence[Any] = ()
) -> gr.Blocks:
    """The page for these models, asked side by side, and the storyboard."""
    with gr.Blocks(title="What will it look like? Visual Recipe Flow", analytics_enabled=False) as page:
        gr.Markdown(HEADING)
        with gr.Tab("Search"):
            _search_tab(models, examples, note, parsers)
        with gr.Tab("Storyboard"):
            storyboard_tab(models, parsers)
    return page


def _search_tab(models: Sequence[Model], examples: Sequence[Example], note: str, parsers: Sequence[Any]) -> None:
    with gr.Row():
        with gr.Column(scale=1):
            sentence = sentence_input(parsers)
            if parsers:
                gr.Examples([[text] for text in example_sentences(parsers)], [sentence], label="Sentences")
            picture = picture_input(any("image" in model.inputs for model in models))
            action, thing = _word_choice(models, "action"), _word_choice(models, "object")
            count = gr.Slider(1, 10, value=5, step=1, label="Pictures per model")
            button = gr.Button("Search", variant="primary")
            understood = gr.Markdown()
            if examples:
                rows = [[example.picture, example.action, example.object] for example in examples]
                gr.Examples(rows, [picture, action, thing], label=f"Examples. {note}", examples_per_page=EXAMPLES)
            else:
                gr.Markdown("No examples: VRF_DATASET is not set, or has none that these models can use.")
        with gr.Column(scale=2):
            if len(models) == 1:
                gr.Markdown("One model is loaded. To compare several, list them in VRF_MODEL.")
            outputs = [component for model in models for component in _model_section(model)]
    search = make_search(models, examples, parsers)
    inputs = [picture, action, thing, count, sentence]
    button.click(search, inputs, [*outputs, understood], api_name="search", show_progress_on=button)


def _word_choice(models: Sequence[Model], part: str) -> gr.Dropdown:
    known = choices(models, part)
    return gr.Dropdown(
        known,
        value=None,
        allow_custom_value=True,
        num_choices_shown=None,
        label=WORDS[part].capitalize(),
        visible=any(part in model.inputs for model in models),
    )


def _model_section(model: Model) -> list[Any]:
    gr.Markdown(f"### {model.title}")
    note = gr.Textbox(show_label=False, interactive=False, container=False, lines=1, value="Not asked yet.")
    gallery = gr.Gallery(show_label=False, columns=5, height=170, object_fit="cover", interactive=False, buttons=[])
    with gr.Accordion("Recipes", open=False):
        heads = ["", "score", "verb", "objects", "recipe", "instruction"]
        table = gr.Dataframe(headers=heads, datatype="str", interactive=False, wrap=True, buttons=[])
    return [gallery, table, note]


def build_error(message: str) -> gr.Blocks:
    """A page that says what has to be set up."""
    with gr.Blocks(title="Visual Recipe Flow: not set up", analytics_enabled=False) as page:
        gr.Markdown("# This page is not set up yet")
        gr.Textbox(message, label="What is missing", lines=4, interactive=False)
    return page


def make_page(environment: dict[str, str]) -> gr.Blocks:
    """The page for this environment, or one that says what is wrong with it."""
    try:
        models = load_models(environment.get("VRF_MODEL", ""))
        fold = environment.get("VRF_FOLD") or None
        if fold is not None and not fold.isdecimal():
            raise SetupError(f"expected the number of a fold in VRF_FOLD, found {fold!r}; use 0 to 9, or unset it")
        name = environment.get("VRF_DATASET")
        folder = Path(tempfile.mkdtemp(prefix="vrf-examples-"))
        examples = load_examples(name, int(fold) if fold else None, models, folder) if name else []
        parsers = load_parsers(environment.get("VRF_PARSER", ""), SetupError)
    except SetupError as error:
        return build_error(str(error))
    note = f"From fold {fold}." if fold else "The models may have been trained on these."
    return build_page(models, examples, note, parsers)


NARROW = "@media (max-width: 640px) { .grid-container { grid-template-columns: repeat(2, 1fr) !important; } }"
"""On a phone, Gradio's galleries keep their columns, and cut off what does not fit."""


if __name__ == "__main__":
    # Fonts of the reader's own machine: Gradio's default loads them from other servers.
    theme = gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
    page = make_page(dict(os.environ))
    page.launch(theme=theme, css=NARROW, max_file_size="10mb", footer_links=["gradio"], ssr_mode=False)
