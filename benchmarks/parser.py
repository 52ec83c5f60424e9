"""Recipes per second from text to flow graph on one core, over the bare forward pass of the same encoder.

Both sides run in turns in one process, on the same recipes in the same batches; the ratio is the median over rounds.
The bare side is the encoder alone, on tensors that are ready in memory: MiniLM as transformers runs it, or the tables
and the BiLSTM of a parser from scratch. Our side splits text into words, makes tensors, runs the encoder, scores all
pairs of entities, and decodes tags and graph. Then: time and memory as a recipe grows, and the time of one recipe.
Times are of the processor, on one thread, so that a busy machine does not change them.

    python benchmarks/parser.py [--encoder scratch] [--recipes 64] [--rounds 5] [--batch-size 32]

The recipes are made up, and the parser is trained on them for some steps, so that it finds a usual number of entities.
"""

import argparse
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import torch
from _timing import speeds_in_turns

from modeling_rfg import RFGModel
from parsing_rfg import describe_graph, make_batches, parse_recipes
from processing_rfg import RFGProcessor
from recipeflow.parser.encoders import OFFLINE_ENCODER, SCRATCH
from recipeflow.parser.examples import Example, ExampleSet
from recipeflow.parser.runs import prepare_run
from recipeflow.parser.settings import ParserConfig, get_preset
from recipeflow.parser.training import ParserTrainer
from recipeflow.release.recipe import LABELS, TAGS
from vocabulary_hub import train_vocabulary

TARGET = 0.6
MOST_SECONDS, MOST_BYTES = 0.1, 1_000_000_000

FOODS = ("potatoes", "onion", "carrots", "butter", "flour", "garlic", "tomatoes", "rice", "beans", "milk", "eggs")
TOOLS = ("pan", "bowl", "oven", "pot", "tray", "plate")
ACTIONS = ("peel", "slice", "boil", "fry", "mix", "stir", "bake", "chop", "drain", "season", "cover", "simmer")
SENTENCE = "{action} the {first} and the {second} in a {tool} for 10 minutes ."
KINDS = {**dict.fromkeys(FOODS, "F"), **dict.fromkeys(TOOLS, "T"), **dict.fromkeys(ACTIONS, "Ac"), "minutes": "D"}


def make_text(number: int, sentences: int) -> str:
    """A recipe of so many sentences, with five entities and thirteen words in each."""
    draw = random.Random(number)
    return "\n".join(
        SENTENCE.format(
            action=draw.choice(ACTIONS), first=draw.choice(FOODS), second=draw.choice(FOODS), tool=draw.choice(TOOLS)
        )
        for _ in range(sentences)
    )


def make_example(text: str) -> Example:
    """Annotate a made-up recipe: foods, tools and times belong to the action of their sentence."""
    recipe = RFGProcessor(train_vocabulary([text]), [], "en").read(text)
    spans, edges, action = [], [], 0
    for position, word in enumerate(recipe.words):
        if (tag := KINDS.get(word)) is None:
            continue
        if tag == "Ac":
            action = len(spans)
        else:
            edges.append((len(spans), action, {"F": "Targ", "T": "Dest"}.get(tag, "other-mod")))
        spans.append((position, position + 1, tag))
    return Example(text[:12], recipe, tuple(spans), tuple(edges))


def train_parser(encoder: str, texts: Sequence[str]) -> tuple[RFGModel, RFGProcessor]:
    """A parser that has learnt the made-up recipes well enough to find their entities."""
    quick = {"dropout": 0.0, "word_dropout": 0.0, "predicted_share": 0.0}
    model = {**get_preset("best", encoder == SCRATCH).model, **quick}
    config = ParserConfig(epochs=20, recipes_per_batch=8, learning_rate=5e-3, max_grad_norm=5.0, model=model)
    examples = tuple(make_example(text) for text in texts[:16])
    run = prepare_run(ExampleSet(examples, "en", tuple(TAGS), tuple(LABELS)), config, encoder)
    trainer = ParserTrainer(run.model, run.processor, config, run.train_data, show_progress=False)
    trained = trainer.train().eval()
    found = sum(len(graph.spans) for graph in parse_recipes(trained, run.processor, [e.recipe for e in examples]))
    if not 0.8 < found / sum(len(example.spans) for example in examples) < 1.2:
        sys.exit(f"the parser found {found} entities, too many or too few to compare: train it for longer")
    return trained, run.processor


def bare(model: RFGModel, processor: RFGProcessor, texts: Sequence[str], batch_size: int) -> Callable[[], None]:
    """The encoder alone, on ready tensors."""
    recipes = [processor.read(text) for text in texts]
    batches = [
        processor([recipes[position] for position in batch])
        for batch in make_batches([len(recipe.words) for recipe in recipes], batch_size)
    ]

    @torch.inference_mode()
    def run() -> None:
        for batch in batches:
            if processor.is_scratch:
                model.lstm(_with_section(model, batch), batch["word_mask"])
            else:
                model.encoder.transformer(
                    input_ids=batch["input_ids"], attention_mask=(batch["input_words"] >= 0).long()
                )

    return run


def _with_section(model: RFGModel, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    words = model.encoder(batch["word_ids"], batch["char_ids"])
    return torch.cat([words, model.sections(batch["section_ids"])], dim=-1)


def ours(model: RFGModel, processor: RFGProcessor, texts: Sequence[str], batch_size: int) -> Callable[[], None]:
    """Text to graphs."""

    def run() -> None:
        recipes = [processor.read(text) for text in texts]
        for graph, recipe in zip(parse_recipes(model, processor, recipes, batch_size), recipes, strict=True):
            describe_graph(graph, recipe)

    return run


def measure_growth(model: RFGModel, processor: RFGProcessor) -> list[tuple[int, int, float, int]]:
    """For longer and longer recipes: sentences, entities found, seconds, and the highest memory so far, in bytes."""
    rows = []
    for sentences in (10, 25, 50, 100):
        recipe = processor.read(make_text(1, sentences))
        started = time.process_time()
        (graph,) = parse_recipes(model, processor, [recipe])
        seconds = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        rows.append((sentences, len(graph.spans), seconds, peak))
    return rows


def measure_one(model: RFGModel, processor: RFGProcessor) -> float:
    """The median time of one recipe of ten sentences, from text to graph."""
    run = ours(model, processor, [make_text(2, 10)], 1)
    speeds = speeds_in_turns({"one": run}, 1, 20, time.process_time)["one"]
    return 1 / statistics.median(speeds)


def main() -> None:
    """Measure, print, and fail below the targets."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--encoder", default=OFFLINE_ENCODER, help=f"{SCRATCH}, or a pre-trained one")
    arguments.add_argument("--recipes", type=int, default=64)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--batch-size", type=int, default=32)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    texts = [make_text(number, 8 + number % 5) for number in range(options.recipes)]
    model, processor = train_parser(options.encoder, texts)
    seconds = measure_one(model, processor)
    sides = {
        "bare encoder": bare(model, processor, texts, options.batch_size),
        "text to graph": ours(model, processor, texts, options.batch_size),
    }
    speeds = speeds_in_turns(sides, options.recipes, options.rounds, time.process_time)
    print(f"{options.encoder}, batches of {options.batch_size}, one thread, recipes/s")
    for name, values in speeds.items():
        print(f"  {name:26}{statistics.median(values):8.1f}   ({min(values):.1f} to {max(values):.1f})")
    ratio = statistics.median(
        own / bare for own, bare in zip(speeds["text to graph"], speeds["bare encoder"], strict=True)
    )
    is_scratch = options.encoder == SCRATCH  # whose encoder is so small that no target makes sense
    target = "" if is_scratch else f" (target: at least {TARGET:.2f})"
    print(f"text to graph over the bare encoder: {ratio:.2f}{target}")
    words = len(processor.read(make_text(2, 10)).words)
    print(f"one recipe of {words} words: {seconds * 1000:.0f} ms (target: under {MOST_SECONDS * 1000:.0f})")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    growth = measure_growth(model, processor)
    for sentences, entities, spent, peak in growth:
        more = f"{max(0, peak - before) / 1e6:.0f} MB more memory"
        print(f"  {sentences:4} sentences, {entities:4} entities: {spent:6.2f} s, {more}")
    most = growth[-1][3] - before
    print(f"memory for {growth[-1][1]} entities: {most / 1e6:.0f} MB (target: under {MOST_BYTES / 1e6:.0f})")
    sys.exit((ratio < TARGET and not is_scratch) or seconds > MOST_SECONDS or most > MOST_BYTES)


if __name__ == "__main__":
    main()
