"""How fast a recipe is imagined: states of one depth together, over one query after the other.

The recipe is cooked by the simulated kitchen: the first one of at least 12 actions and 20 states. The model has the
offline backbone with ImageNet weights and an index of other recipes; its other weights are random, which does not
change the time. One query after the other asks the same, but carries a picture on as a picture, so that the backbone
reads it again. Everything is loaded before the clock starts.

    python benchmarks/storyboard.py --recipes 40
    python benchmarks/storyboard.py --model run/model    # a trained and calibrated one, with its own index
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import datasets
import torch

from configuration_vrf import OFFLINE_WEIGHTS, VRFConfig
from flows_vrf import Script
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.build import build_dataset
from recipeflow.kitchen import cook_release
from recipeflow.kitchen.cooking import devise_recipe
from recipeflow.search import Retriever
from recipeflow.storyboard.scripts import script_of
from retrieval_vrf import VRFCalibration, VRFScale, query_kinds
from storyboard_vrf import imagine_script, make_queries
from words_vrf import Translator

BACKBONE = "tf_efficientnet_lite0"
ACTIONS, STATES, TARGET = 12, 20, 2.0
"""The smallest recipe that is measured, and the most seconds that it may take."""


def find_script(seed: int = 7) -> Script:
    """A recipe that nobody has cooked for the index."""
    for number in range(1000):
        script = script_of(devise_recipe(seed, number).recipe)
        if len({state.action for state in script.states}) >= ACTIONS and len(script.states) >= STATES:
            return script
    raise RuntimeError(f"expected a recipe of {ACTIONS} actions and {STATES} states among 1,000, found none")


def make_retriever(folder: Path, recipes: int, script: Script) -> Retriever:
    """A calibrated model that reads context, with an index of cooked recipes."""
    cook_release(folder / "kitchen", recipes, used_only=True)
    build_dataset(folder / "kitchen", folder / "vrf")
    phrases = [list(script.words(node)) for node in script.nodes]
    processor = VRFProcessor.from_phrases(phrases, BACKBONE)
    config = VRFConfig(
        backbone=BACKBONE,
        vocab_size=processor.vocab_size,
        architecture="residual",
        context="history",
        loss="contrastive",
    )
    model = VRFModel.from_backbone(config, OFFLINE_WEIGHTS).eval()
    retriever = Retriever.build(model, processor, folder / "vrf", cache=folder / "cache")
    scales = dict.fromkeys(query_kinds(config.read_parts), VRFScale(0.05, 0.5))
    retriever.index.calibration = VRFCalibration(scales, retriever.index.about["weights"], {})
    return retriever


def ask_in_turn(script: Script, retriever: Retriever) -> None:
    """One query after the other; the picture that was found is the next one's picture from before."""
    found: list = []
    queries = make_queries(script, retriever.model, Translator({}, retriever.processor))
    for state, query in zip(script.states, queries, strict=True):
        before = None if state.before is None else found[state.before]["image"]
        context = {role: " ".join(words) for role, words in query["context"].items()}
        parts = {name: " ".join(query[name]) for name in ("action", "object")}
        found.append(retriever.search(**parts, image=before, context=context, k=1)[0])


def main() -> None:
    """Measure, print, and fail above the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recipes", type=int, default=40, help="in the index")
    parser.add_argument("--model", help="use this one instead")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    datasets.disable_progress_bars()
    script = find_script()
    with tempfile.TemporaryDirectory() as folder:
        if options.model:
            retriever = Retriever.from_pretrained(options.model)
        else:
            retriever = make_retriever(Path(folder), options.recipes, script)
        sides = {
            "together, with the index's features": lambda: imagine_script(
                script, retriever.model, retriever.processor, retriever.index
            ),
            "one query after the other": lambda: ask_in_turn(script, retriever),
        }
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(options.rounds + 1):
            for name, run in sides.items():
                started = time.perf_counter()
                run()
                if number:
                    seconds[name].append(time.perf_counter() - started)
    actions = len({state.action for state in script.states})
    print(
        f"{actions} actions, {len(script.states)} states, {len(retriever.index):,} candidates, "
        f"{torch.get_num_threads()} threads; median of {options.rounds} rounds:"
    )
    for name, times in seconds.items():
        print(f"  {name:38}{statistics.median(times):8.3f} s")
    together, in_turn = seconds.values()
    ratio = statistics.median(slow / fast for fast, slow in zip(together, in_turn, strict=True))
    print(f"together over one after the other: {ratio:.1f} times as fast")
    sys.exit(statistics.median(together) > TARGET or ratio < 1)


if __name__ == "__main__":
    main()
