"""From a dataset to a model that is ready to train: shared by ``vrf train`` and every job of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from configuration_vrf import VRFConfig, weights_digest
from modeling_vrf import VRFModel
from processing_vrf import VRFProcessor
from recipeflow.dataset.digest import dataset_digest
from recipeflow.dataset.folds import FOLDS, split_folds
from recipeflow.dataset.opening import DatasetSource, check_context, open_dataset
from recipeflow.errors import UsageError
from recipeflow.evaluation.ranking import EvaluationSet, make_evaluation_set
from recipeflow.features.compute import FeatureTable, compute_features, weights_origin
from recipeflow.features.pixels import FramePixels
from recipeflow.files import cache_folder
from recipeflow.machines.code_version import code_version
from recipeflow.machines.joining import check_same, check_shared
from recipeflow.machines.processes import decide_in_main, do_in_all
from recipeflow.pairs.batches import PairTensors, check_share, make_tensors
from recipeflow.pairs.loading import Pairs
from recipeflow.pairs.mapped import open_pairs
from recipeflow.training.loop import make_accelerator
from recipeflow.training.output_folder import ClaimedFolder
from recipeflow.training.recorded_settings import refuse_finished
from recipeflow.training.saved_model import BEST, find_model_folder
from recipeflow.training.settings import TrainingConfig, check_views
from recipeflow.training.trainer import RUN, CardMaker, VRFTrainer
from recipeflow.training.tuning import apply_tuning, keep_tuning, settings_of_run, tune


@dataclass(frozen=True)
class Run:
    """A model with its processor and data; ``eval_data`` and ``test_fold`` are ``None`` when no fold is held out."""

    model: VRFModel
    processor: VRFProcessor
    train_data: PairTensors
    eval_data: EvaluationSet | None
    test_fold: int | None = None


def prepare_run(
    pairs: Pairs,
    config: TrainingConfig,
    fold: int | None,
    backbone: str,
    weights: str,
    inner: bool = False,
    **fields: Any,
) -> Run:
    """Hold out a fold, build the vocabulary from the rest, and make a new model.

    Args:
        pairs: The dataset with its images: as features, or as pixels to fine-tune on.
        config: How it will be trained; its seed also fixes the initial weights.
        fold: The fold to test on; ``None`` trains on everything.
        backbone: The timm name of the network that made the features.
        weights: Where that network's weights come from.
        inner: Test on the next fold and leave this one out, to choose settings.
        **fields: Of ``VRFConfig``, other than the paper's.
    """
    train_folds, test_folds = split_folds(fold, inner) if fold is not None else (range(FOLDS), [])
    rows = pairs.rows(config.inputs, train_folds, config.incomplete)
    processor = VRFProcessor.from_phrases(pairs.phrases(rows, config.context), backbone)
    torch.manual_seed(config.seed)
    model_config = VRFConfig(
        backbone=backbone,
        vocab_size=processor.vocab_size,
        margin=config.margin,
        negatives=config.negatives,
        use_action="action" in config.inputs,
        use_object="object" in config.inputs,
        use_image="image" in config.inputs,
        **config.model,
        held_out_fold=fold,
        feature_precision=None if config.finetune else config.feature_precision,
        **fields,
    )
    model = VRFModel.from_backbone(model_config, weights)
    if config.finetune:
        model.unfreeze_backbone("last" if config.finetune == "last" else "all")
        model.config.backbone_weights += ", fine-tuned"  # cached features are no longer its own
    else:
        pairs.images.check_model(model.config)
    eval_data = None
    if test_folds:
        eval_data = make_evaluation_set(pairs, config.inputs, test_folds, processor, config.context)
    train_data = make_tensors(pairs, rows, config.inputs, processor, config.context)
    return Run(model, processor, train_data, eval_data, *test_folds)


def tune_run(
    pairs: Pairs,
    config: TrainingConfig,
    fold: int | None,
    backbone: str,
    weights: str,
    announce: Callable[[str], None] = lambda line: None,
) -> dict[str, Any] | None:
    """What suits this dataset, as a record of the choice; ``None`` unless ``config.tune``.

    The fold that the run holds out is left out here too, and the next one is tested; a run that holds none out is
    tuned on fold 0.
    """
    if not config.tune:
        return None
    inner = fold is not None
    tested = split_folds(fold or 0, inner)[1][0]

    def attempt(tried: TrainingConfig) -> dict[str, float]:
        run = prepare_run(pairs, tried, fold or 0, backbone, weights, inner)
        model, words = run.model, run.processor
        trainer = VRFTrainer(model, words, tried, run.train_data, eval_data=run.eval_data, show_progress=False)
        trainer.train()
        return trainer.last_figures()

    return {"fold": tested, **tune(config, attempt, announce)}


class RunTrainer(VRFTrainer):
    """The trainer of a run that holds out a fold. Its best model records the fold that it was selected on."""

    test_fold: int | None = None

    def save_model(self, folder: Path) -> None:
        config = self.model.config
        config.selected_on_fold = self.test_fold if folder.name == BEST else None
        try:
            super().save_model(folder)
        finally:
            config.selected_on_fold = None


def open_images(
    dataset: str | Path, backbone: str, weights: str, cache: str | Path | None, finetuned: bool, **options: Any
) -> FeatureTable | FramePixels:
    """The images of a dataset as a model needs them: cached features, or pixels if its backbone was fine-tuned.

    ``options`` are those of `compute_features`, which uses fp32 unless they include another precision.
    """
    if finetuned:
        return FramePixels.open(dataset, backbone)
    return compute_features(dataset, backbone=backbone, weights=weights, cache=cache, **options)


def start_training(
    dataset: DatasetSource,
    output: str | Path,
    config: TrainingConfig,
    fold: int | None,
    *,
    backbone: str,
    weights: str,
    cache: str | Path | None = None,
    trackers: tuple[str, ...] = (),
    announce: Callable[[str], None] = lambda line: None,
    make_card: CardMaker | None = None,
) -> RunTrainer:
    """A trainer for a dataset, ready to train or to resume; ``announce`` gets lines on which rows are used.

    Invalid settings are refused before any work is done. The dataset is a folder, ``OWNER/NAME`` on the Hub, or
    a ``Dataset`` with the columns of ``image_pairs``, as ``open_dataset`` takes it; the other arguments are those of
    ``prepare_run`` and ``VRFTrainer``. The trainer keeps its claim on ``output`` until training ends.
    """
    if fold is not None:
        split_folds(fold)
    output = Path(output)
    accelerator = make_accelerator(config, output, trackers)
    check_share(config.recipes_per_batch, accelerator.num_processes)
    settings = asdict(config) | {"held_out_fold": fold, "backbone": backbone, "PyTorch": torch.__version__}
    check_same(lambda: {"code": code_version(), "weights": weights_origin(backbone, weights), **settings})
    claim = ClaimedFolder(output, RUN)
    decide_in_main(claim.take)
    try:
        check_shared(output, "--out")
        check_shared(Path(cache or cache_folder("features")), "--cache")
        decide_in_main(lambda: refuse_finished(output))
        folder = do_in_all(lambda: open_dataset(dataset))
        check_context(folder, config.context)
        run, pairs, config, origin = _prepare(folder, output, config, fold, backbone, weights, cache, announce)
        trainer = RunTrainer(
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
        trainer.test_fold = run.test_fold
    except BaseException:
        claim.release()
        raise
    if accelerator.is_main_process:
        usable = int(pairs.usable(config.inputs, config.incomplete).sum())
        optional = ", some without the image" if usable > pairs.usable(config.inputs).sum() else ""
        announce(f"{usable} of {len(pairs.folds)} rows have what {' + '.join(config.inputs)} needs{optional}")
        announce(f"training on {len(run.train_data)} of them, in {trainer.steps} steps")
    return trainer


def _prepare(
    dataset: Path,
    output: Path,
    config: TrainingConfig,
    fold: int | None,
    backbone: str,
    weights: str,
    cache: str | Path | None,
    announce: Callable[[str], None],
) -> tuple[Run, Pairs, TrainingConfig, dict[str, Any]]:
    """The run, its tuned settings, and the origin that a resumed run must match.

    All machines have the same data and initial weights.
    """
    digest = check_same(lambda: {"dataset": dataset_digest(dataset)})["dataset"]
    images = open_images(
        dataset,
        backbone,
        weights,
        cache,
        bool(config.finetune),
        precision=config.feature_precision,
        views=config.views,
        image_features=config.image_features,
        announce=announce,
    )
    pairs = open_pairs(dataset, images, cache, digest, announce)
    origin: dict[str, Any] = {"dataset": digest, "held_out_fold": fold, "backbone": backbone}
    asked = settings_of_run(config) | origin | {"weights": weights_origin(backbone, weights)}
    tuning = keep_tuning(output, asked, lambda: tune_run(pairs, config, fold, backbone, weights, announce))
    config = apply_tuning(config, tuning)
    run = prepare_run(pairs, config, fold, backbone, weights, trained_on=digest, tuning=tuning)
    check_same(lambda: {"initial weights": weights_digest(run.model)})
    origin["backbone_weights"] = run.model.config.backbone_weights
    return run, pairs, config, origin


def load_trained(name: str, device: torch.device | None = None) -> tuple[VRFModel, VRFProcessor]:
    """A saved model with its processor, by folder or by name on the Hub; on the CPU unless a device is passed."""
    find_model_folder(name)
    try:
        return VRFModel.from_pretrained(name).to(device or "cpu"), VRFProcessor.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"expected a model saved by `vrf train`, found none in {name!r} ({error}); pass its folder, such as "
            "run/model"
        ) from error


def open_trained(
    name: str,
    dataset: DatasetSource,
    weights: str,
    cache: str | Path | None,
    device: torch.device | None = None,
    views: int = 1,
) -> tuple[VRFModel, VRFProcessor, Pairs]:
    """A saved model with its processor, and a dataset with the images that it needs, each as the mean of its views."""
    check_views(views)
    dataset = open_dataset(dataset)
    model, processor = load_trained(name, device)
    check_context(dataset, model.config.context)
    if not model.config.freeze_backbone:
        if views > 1:
            raise UsageError(f"expected one view for a fine-tuned model, found {views}; omit --views")
        return model, processor, open_pairs(dataset, FramePixels.open(dataset, model.config.backbone), cache)
    processor.views = views
    backbone, kind = model.config.backbone, model.config.image_features
    table = compute_features(
        dataset, backbone=backbone, weights=weights, cache=cache, device=device, views=views, image_features=kind
    )
    table.check_model(model.config)
    return model, processor, open_pairs(dataset, replace(table, mean=True), cache)
