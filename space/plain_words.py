"""Plain words on the page: a sentence instead of a verb and an object, and a tab that imagines a whole recipe.

Both need a parser, a model of the task `recipe-flow-graph`, which brings its own code like the other models.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import gradio as gr
from transformers import pipeline

TASK = "recipe-flow-graph"
NO_PARSER = "This needs a parser: set VRF_PARSER to one, or to several of different languages, separated by commas."
SENTENCES = {
    "ja": ["キャベツを千切りにする", "にんじんを薄く切ります。", "卵をゆでる"],
    "en": ["Shred the cabbage.", "Boil the egg."],
}
RECIPES = {
    "ja": """材料
キャベツ１／４個
にんじん１／２本
ハム４枚
マヨネーズ大さじ２
砂糖小さじ１
作り方
１．キャベツは千切りにします。にんじんは皮を剥き、千切りにします。
２．ボウルにマヨネーズ、砂糖を入れ、混ぜます。
３．キャベツ、にんじん、ハムを加え、和えます。
４．器に盛り付けて完成です。""",
    "en": """Ingredients
1/4 cabbage
1/2 carrot
2 tbsp mayonnaise
Instructions
Shred the cabbage and the carrot.
Put the cabbage and the carrot in a bowl, add the mayonnaise and mix.""",
}


def load_parsers(names: str, wrong: type[Exception]) -> list[Any]:
    """The parsers in `VRF_PARSER`; none if it is empty.

    Args:
        names: Folders or names on the Hub, separated by commas.
        wrong: The error that says that the Space is not set up correctly.
    """
    load: Any = pipeline  # its annotations know only the tasks of transformers
    found = []
    for name in (name.strip() for name in names.split(",") if name.strip()):
        try:
            found.append(load(TASK, model=name, trust_remote_code=True))
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            raise wrong(
                f"expected a parser in {name!r} (VRF_PARSER), found: {type(error).__name__}: {error}; train one with "
                "`vrf parser train`, or unset VRF_PARSER"
            ) from error
    return found


def languages(parsers: Sequence[Any]) -> list[str]:
    """The languages of parsers, such as ja and en."""
    return [parser.processor.language.partition("-")[0] for parser in parsers]


def understand(sentence: str, parsers: Sequence[Any], pipe: Any) -> Any:
    """The request in a sentence, by the first parser that can read it."""
    reasons = []
    for parser in parsers:
        try:
            return pipe.read_request(sentence, parser)
        except ValueError as error:
            reasons.append(str(error))
    raise gr.Error(escape(reasons[-1] if reasons else NO_PARSER), print_exception=False)


def example_sentences(parsers: Sequence[Any]) -> list[str]:
    """Sentences in the languages of these parsers."""
    return [sentence for language in languages(parsers) for sentence in SENTENCES.get(language, ())]


def sentence_input(parsers: Sequence[Any]) -> gr.Textbox:
    """Where a sentence is written; it is hidden where nothing could read it."""
    known = example_sentences(parsers)
    return gr.Textbox(
        label="In plain words",
        placeholder=" / ".join(known[:2]),
        lines=1,
        visible=bool(parsers),
        info="A sentence that says what is done to what; the two lists below are not needed then.",
    )


def storyboard_tab(models: Sequence[Any], parsers: Sequence[Any]) -> None:
    """The tab where a recipe is pasted."""
    usable = [model for model in models if {"action", "object"} <= set(model.inputs)]
    usable.sort(key=lambda model: "image" not in model.inputs)
    if not parsers or not usable:
        gr.Markdown(NO_PARSER if not parsers else "This needs a model that reads a verb and an object.")
        return
    gr.Markdown(
        "Paste a recipe. For every action and object you see the picture that the model finds for the result; that "
        "picture is what it sees before the next action."
    )
    text = gr.Textbox(label="Recipe", lines=10, placeholder="材料 … 作り方 … / Ingredients … Instructions …")
    button = gr.Button("Imagine", variant="primary")
    known = [[RECIPES[language]] for language in languages(parsers) if language in RECIPES]
    gr.Examples(known, [text], label="Examples")
    note = gr.Markdown()
    gallery = gr.Gallery(
        label="Storyboard", columns=4, height="auto", object_fit="cover", interactive=False, buttons=[]
    )
    with gr.Accordion("Panels", open=False):
        heads = ["", "action", "object", "continues", "confidence", "not sure, because", "picture from"]
        table = gr.Dataframe(headers=heads, datatype="str", interactive=False, wrap=True, buttons=[])
    outputs = [gallery, table, note]
    button.click(make_imagine(usable[0], parsers), [text], outputs, api_name="imagine", show_progress_on=button)


def make_imagine(model: Any, parsers: Sequence[Any]) -> Any:
    """The function behind the button: a recipe's text to gallery, table and note."""

    def imagine(text: str) -> list[Any]:
        panels = _find_panels(text, model, parsers)
        gallery = [(panel.answers[0]["image"].convert("RGB"), _caption(panel)) for panel in panels if panel.answers]
        table = [_line(panel) for panel in panels]
        unsure, unseen = sum(not panel.sure for panel in panels), len(panels) - len(gallery)
        note = f"Panels: {len(panels)}; the model is not sure of {unsure}."
        if getattr(model.pipe.model.config, "ignores_image", False):
            note += " It ignores pictures: every panel is asked in words alone."
        return [gallery, table, note + (f" {unseen} have no picture: see the table." if unseen else "")]

    return imagine


def _find_panels(text: str, model: Any, parsers: Sequence[Any]) -> list[Any]:
    if not (text or "").strip():
        raise gr.Error("expected the text of a recipe, found none; paste one", print_exception=False)
    reasons = []
    for parser in parsers:
        try:
            return model.pipe.imagine(parser(text))
        except (ValueError, TypeError) as error:
            reasons.append(str(error))
    raise gr.Error(escape(reasons[-1]), print_exception=False)


def _caption(panel: Any) -> str:
    sure = "" if panel.confidence is None else f" {panel.confidence:.0%}"
    return f"{panel.number}. {panel.action} · {panel.object}{sure}{'' if panel.sure else ' (not sure)'}"


def _line(panel: Any) -> list[str]:
    before, answers = panel.state.before, panel.answers
    return [
        str(panel.number),
        panel.action,
        panel.object,
        "" if before is None else str(before + 1),
        "" if panel.confidence is None else f"{panel.confidence:.0%}",
        "; ".join(panel.doubts),
        str(answers[0]["title"] or answers[0]["recipe_id"]) if answers else "no picture",
    ]
