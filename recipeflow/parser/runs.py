"""From a release to a parser that is ready to train, and from a folder to one that is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from dataclasses import fields as fields_of
from pathlib import Path
from random import Random
from typing import Any

import torch
from accelerate.utils import DistributedType
from huggingface_hub.errors import StrictDataclassError

from configuration_rfg import RFGConfig
from modeling_rfg import RFGModel
from parsing_rfg import RecipeFlowGraphPipeline
from processing_rfg import RFGProcessor
from recipeflow.dataset.folds import FOLDS, split_folds
from recipeflow.errors import BackboneError, ModelFolderError, UsageError
from recipeflow.machines.code_version import code_version
from recipeflow.machines.joining import check_same, check_shared
from recipeflow.machines.processes import decide_in_main, do_in_all
from recipeflow.parser.encoders import SCRATCH, find_encoder
from recipeflow.parser.examples import Example, ExampleSet, check_language, check_names, read_examples
from recipeflow.parser.settings import ParserConfig
from recipeflow.parser.training import PARSER_RUN, CardMaker, ParserTrainer
from recipeflow.training.loop import make_accelerator
from recipeflow.training.output_folder import ClaimedFolder
from recipeflow.training.recorded_settings import refuse_finished
from recipeflow.training.saved_model import find_model_folder


@dataclass(frozen=True)
class ParserRun:
    """A new model with its processor, and the recipes to train and to test it on."""

    model: RFGModel
    processor: RFGProcessor
    train_data: list[Example]
    eval_data: list[Example]


def prepare_run(
    data: ExampleSet,
    config: ParserConfig,
    encoder: str = SCRATCH,
    fold: int | None = None,
    *,
    test: ExampleSet | None = None,
    recipes: int | None = None,
    **fields: Any,
) -> ParserRun:
    """Hold out a fold, build the vocabulary from the rest, and make a new model.

    Args:
        data: The recipes.
        config: How it will be trained; its seed also fixes the initial weights.
        encoder: ``scratch``, or a pre-trained encoder as `find_encoder` takes it.
        fold: The fold to test on; ``None`` trains on everything.
        test: Other recipes to test on.
        recipes: Train only on this many, chosen by the seed.
        **fields: Of ``RFGConfig``.

    Raises:
        UsageError: If there is nothing to train on, or the test has another language or other tags or labels.
        BackboneError: If the encoder cannot be loaded.
    """
    train_folds, test_folds = split_folds(fold) if fold is not None else (range(FOLDS), [])
    train_data = _choose(data.in_folds(train_folds), recipes, config.seed)
    if not any(example.recipe.words for example in train_data):
        raise UsageError("expected recipes with words to train on, found none; use a release with more recipes")
    if test is not None:
        check_language(data.language, test.language, "recipes to test on")
    eval_data = [*data.in_folds(test_folds), *(test.examples if test is not None else ())]
    if unknown := sorted(config.model.keys() - {field.name for field in fields_of(RFGConfig)}):
        raise UsageError(
            f"expected settings of the model that `RFGConfig` has, found {', '.join(unknown)}; check them"
        )
    torch.manual_seed(config.seed)
    fields |= {"tags": list(data.tags), "labels": list(data.labels), "language": data.language, **config.model}
    try:
        model, processor = _make_model(train_data, config, encoder, data.language, fields | {"held_out_fold": fold})
    except (StrictDataclassError, TypeError) as error:
        raise UsageError(f"expected valid settings of the model, found: {error}") from error
    check_names([*train_data, *eval_data], model.config)
    return ParserRun(model, processor, train_data, eval_data)


def _choose(examples: list[Example], number: int | None, seed: int) -> list[Example]:
    if number is None:
        return examples
    if number > len(examples):
        raise UsageError(f"expected at most {len(examples)} recipes to train on, found {number}; ask for fewer")
    return Random(seed).sample(examples, number)


def _make_model(
    train_data: Sequence[Example], config: ParserConfig, encoder: str, language: str, fields: dict[str, Any]
) -> tuple[RFGModel, RFGProcessor]:
    if encoder == SCRATCH:
        recipes = [example.recipe for example in train_data]
        processor = RFGProcessor.from_recipes(recipes, language, config.min_count)
        sizes: dict[str, Any] = {
            "vocab_size": processor.vocab_size,
            "char_vocab_size": processor.char_vocab_size,
            "max_characters": processor.max_characters,
        }
        return RFGModel(RFGConfig(**(sizes | fields))), processor
    source = find_encoder(encoder)
    try:
        processor = RFGProcessor.from_encoder(source, language)
        model = RFGModel.from_encoder(source, **fields)
    except (OSError, ValueError) as error:
        raise BackboneError(
            f"expected an encoder of transformers with its tokenizer, found none in {encoder!r} ({error}); pass its "
            f"folder, its name on the Hub, or `{SCRATCH}`"
        ) from error
    model.config.encoder_weights = encoder  # its name, not a path of this machine
    return model, processor


def start_training(
    release: str | Path,
    output: str | Path,
    config: ParserConfig,
    encoder: str = SCRATCH,
    fold: int | None = None,
    *,
    test: str | Path | None = None,
    recipes: int | None = None,
    trackers: tuple[str, ...] = (),
    announce: Callable[[str], None] = lambda line: None,
    make_card: CardMaker | None = None,
) -> ParserTrainer:
    """A trainer for a release, ready to train or to resume; ``announce`` gets a line on what is used.

    Invalid settings are refused before any work is done. The arguments are those of `prepare_run` and `ParserTrainer`.
    The trainer keeps its claim on ``output`` until training ends.
    """
    output = Path(output)
    accelerator = make_accelerator(config, output, trackers)
    if accelerator.distributed_type == DistributedType.FSDP:
        raise UsageError(
            "expected one process, or several without sharding, found FSDP: parsers are small; use "
            "docs/accelerate/one_machine.yaml"
        )
    settings = asdict(config) | {"encoder": encoder, "held_out_fold": fold, "PyTorch": torch.__version__}
    check_same(lambda: {"code": code_version(), **settings})
    claim = ClaimedFolder(output, PARSER_RUN)
    decide_in_main(claim.take)
    try:
        check_shared(output, "--out")
        decide_in_main(lambda: refuse_finished(output))
        data = do_in_all(lambda: read_examples(release))
        tested = None if test is None else do_in_all(lambda: read_examples(test))
        digests = {"release": data.digest(), "test": None if tested is None else tested.digest()}
        check_same(lambda: digests)
        run = prepare_run(data, config, encoder, fold, test=tested, recipes=recipes, trained_on=data.digest())
        origin = digests | {"held_out_fold": fold, "encoder": encoder}
        trainer = ParserTrainer(
            run.model,
            run.processor,
            config,
            run.train_data,
            output,
            eval_data=run.eval_data,
            trackers=trackers,
            origin=origin,
            accelerator=accelerator,
            claim=claim,
            make_card=make_card,
        )
    except BaseException:
        claim.release()
        raise
    if accelerator.is_main_process:
        about = run.model.config
        if about.word_dropout and not about.is_scratch and about.mask_token_id is None:
            announce(f"{encoder} has no token for hidden words, so that none are hidden in training")
        weights = sum(weight.numel() for weight in run.model.parameters())
        announce(f"training on {len(run.train_data)} recipes, in {trainer.steps} steps; {weights:,} weights")
    return trainer


def open_pipeline(name: str) -> RecipeFlowGraphPipeline:
    """A trained parser as a pipeline from text to flow graph."""
    model, processor = load_parser(name)
    return RecipeFlowGraphPipeline(model=model, processor=processor)


def load_parser(name: str) -> tuple[RFGModel, RFGProcessor]:
    """A trained parser with its processor, by folder or by name on the Hub.

    Raises:
        ModelFolderError: If there is none.
    """
    find_model_folder(name)
    try:
        model = RFGModel.from_pretrained(name).eval()
        return model, model.processor
    except (OSError, ValueError, StrictDataclassError) as error:
        raise ModelFolderError(
            f"expected a parser saved by `vrf parser train`, found none in {name!r} ({error}); pass its folder, such "
            "as run/model"
        ) from error
