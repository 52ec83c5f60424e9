"""Tags and flows from a trained parser. Needs PyTorch: imported only where a parser is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from decoding_rfg import iob2_penalties
from recipeflow.annotate.document import Document
from recipeflow.annotate.suggest.flow_chances import FlowChances
from recipeflow.annotate.suggest.guess import PARSER
from recipeflow.annotate.suggest.kept import KEPT_FLOWS, KEPT_WORDS, Kept, entities_key, words_key
from recipeflow.annotate.suggest.word_chances import WordChances
from recipeflow.errors import UsageError
from recipeflow.parser.examples import check_language, label_tensors, make_example, read_words
from recipeflow.parser.runs import load_parser
from recipeflow.release.scheme import Scheme
from scoring_rfg import RFGAllSequences


class ParserReader:
    """Reads recipes with a parser.

    Args:
        name: Its folder, or its name on the Hub.
        is_own: Whether it was trained on the finished recipes of the layer alone.
    """

    def __init__(self, name: str, is_own: bool = False) -> None:
        self.name, self.is_own = name, is_own
        self.model, self.processor = load_parser(name)
        self.model.eval()
        self.words: Kept[WordChances] = Kept(KEPT_WORDS)
        self.ends: Kept[FlowChances] = Kept(KEPT_FLOWS)

    def check(self, scheme: Scheme) -> None:
        """Refuse recipes that it cannot read.

        Raises:
            UsageError: If they have another language, or tags that it does not know.
        """
        config = self.model.config
        check_language(config.language, scheme.language, "recipes to annotate")
        if unknown := [tag for tag in scheme.tags if tag not in config.tags]:
            raise UsageError(
                f"expected a parser with the tags {', '.join(scheme.tags)}, found {self.name} without "
                f"{', '.join(unknown)}; use one that was trained on such recipes"
            )

    def read_words(self, document: Document) -> WordChances:
        """How likely each word of a recipe has which tag."""
        return self.words.get(words_key(document), lambda: self._read_words(document))

    def read_flows(self, document: Document) -> FlowChances:
        """Where flows between the entities that a recipe has end, and their labels."""
        return self.ends.get(entities_key(document), lambda: self._read_flows(document))

    def _read_words(self, document: Document) -> WordChances:
        words = read_words(document.words)
        with torch.no_grad():
            logits = self.model(**self.processor([words]).to(self.model.device)).tag_logits
        chances = self._sequence_chances(logits)
        names = self.model.config.iob_tags
        known = [number for number, name in enumerate(names) if name == "O" or name[2:] in document.scheme.tags]
        unknown = [number for number in range(len(names)) if number not in known]
        chances[:, names.index("O")] += chances[:, unknown].sum(axis=1)  # here, such an entity is none
        lines, first = {}, 0
        for line in words.lines:
            if line.words:
                lines[line.section, line.number] = chances[first : first + len(line.words), known]
            first += len(line.words)
        return WordChances(PARSER, tuple(names[number] for number in known), lines)

    def _sequence_chances(self, logits: torch.Tensor) -> np.ndarray:
        """The probability of each word's tags over all valid sequences: the gradient of the CRF's denominator."""
        tagger = self.model.tagger
        steps = tagger.transitions.weight.detach().float() + iob2_penalties(tagger.tag_count).to(logits)
        scores = logits.detach().requires_grad_()
        with torch.enable_grad():
            total = RFGAllSequences.apply(scores, steps, torch.ones(logits.shape[:2], dtype=torch.bool))
        (chances,) = torch.autograd.grad(total, scores)
        return chances[0].cpu().numpy()

    def _read_flows(self, document: Document) -> FlowChances:
        example = replace(make_example(document.tagged), edges=())
        given = label_tensors([example], self.model.config)
        inputs = {
            **self.processor([example.recipe]),
            **{name: given[name] for name in ("entity_spans", "entity_tags")},
        }
        with torch.no_grad():
            output = self.model(**{name: tensor.to(self.model.device) for name, tensor in inputs.items()})
        scores = output.edge_scores[0].float().cpu().numpy()  # (E, E, labels)
        ends = scores.sum(axis=2)
        none = np.clip(1 - ends.sum(axis=1, keepdims=True), 0, 1)
        names = self.model.config.labels

        def name(start: int, end: int) -> dict[str, float]:
            return dict(zip(names, (scores[start, end] / max(ends[start, end], 1e-9)).tolist(), strict=True))

        return FlowChances(PARSER, tuple(document.tagged.entities), np.hstack([ends, none]), name)
