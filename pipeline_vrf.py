"""A transformers pipeline that answers queries from the index in a model's repository.

    pipe = pipeline("post-action-retrieval", model=repo, trust_remote_code=True)
    pipe({"action": "千切り", "object": "キャベツ", "image": "cabbage.jpg"}, top_k=5)

This file travels with every saved model that has an index and imports nothing of the project.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import BatchFeature, Pipeline, PreTrainedModel

try:
    from .calibration_vrf import kind_of, query_kinds
    from .index_vrf import VRFIndex, arrange_queries
except ImportError:
    if __package__:  # inside a package the sibling exists: the error is a real one
        raise
    from calibration_vrf import kind_of, query_kinds
    from index_vrf import VRFIndex, arrange_queries

TASK = "post-action-retrieval"
KIND = "kind"
"""Under this name the number of a query's kind goes past the model: what is missing decides how sure to be."""


class PostActionRetrievalPipeline(Pipeline):
    """Find the pictures that show an object after an action.

    Args:
        model: A `VRFModel`.
        index: Its candidates, or the folder of a model that has them; by default those of the model's repository.
    """

    _load_processor = True
    _load_tokenizer = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, model: PreTrainedModel, index: VRFIndex | str | Path | None = None, **kwargs: Any) -> None:
        super().__init__(model=model, **kwargs)
        if self.processor is None:
            raise ValueError("expected a processor, found none; pass processor=… along with a model in memory")
        self.index = index if isinstance(index, VRFIndex) else VRFIndex.load(index or model.find_folder())
        self.index.check_model(model)

    def _sanitize_parameters(
        self, top_k: int | None = None, min_confidence: float | None = None, k: int | None = None
    ) -> tuple[dict, dict, dict]:
        """`k`, the name that `Retriever.search` has for `top_k`, is understood, too."""
        given = {"top_k": k if top_k is None else top_k, "min_confidence": min_confidence}
        return {}, {}, {name: value for name, value in given.items() if value is not None}

    def preprocess(self, query: Mapping[str, Any]) -> BatchFeature:
        """Words and picture to tensors, and what the query lacks; the processor warns of unknown words."""
        config = self.model.config
        inputs = self.processor(**arrange_queries([query], config))
        kinds = query_kinds(config.query_parts)
        inputs[KIND] = torch.tensor([kinds.index(kind_of(query, config.query_parts))])
        return inputs

    def _forward(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        given = {name: tensor for name, tensor in inputs.items() if name != KIND}
        return {"query_embeds": self.model.get_query_embeds(**given).float(), KIND: inputs[KIND]}

    def postprocess(
        self, outputs: Mapping[str, torch.Tensor], top_k: int = 5, min_confidence: float | None = None
    ) -> list[dict[str, Any]]:
        """The nearest candidates, the best first, as rows with a `score`.

        A calibrated model adds its `confidence` in each, and whether it is `sure` of the first.
        """
        kind = query_kinds(self.model.config.query_parts)[int(outputs[KIND])]
        return self.index.nearest(outputs["query_embeds"].numpy(), top_k, min_confidence, [kind])[0]


CUSTOM_PIPELINES = {
    TASK: {"impl": f"pipeline_vrf.{PostActionRetrievalPipeline.__name__}", "pt": ["AutoModel"], "type": "multimodal"}
}
"""What `config.json` has to say for `pipeline` to find this class."""

__all__ = ["CUSTOM_PIPELINES", "TASK", "PostActionRetrievalPipeline"]
