"""What the model's tests share: small models and batches, and the paper's equations once more.

The second computation uses only sums, products and elementary functions of plain torch, one example at a time and
without padding, so that it shares no code and no trick with the model.
"""

import traceback
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from configuration_vrf import VRFConfig
from modeling_vrf import VRFModel

torch.set_num_threads(1)  # the tensors are small: a second thread only waits for the first
BACKBONE = "test_resnet"  # timm's network for tests: real layers, 96 features, a fifth of a million weights
INPUT_SUBSETS = [
    {"use_action": bool(bits & 1), "use_object": bool(bits & 2), "use_image": bool(bits & 4)} for bits in range(1, 8)
]
RESIDUAL = {"architecture": "residual", "hidden_dim": 12, "loss": "contrastive", "temperature": 0.1}
CONTEXT = {
    "context_ids": torch.tensor([[3, 4, 5], [6, 0, 0], [0, 0, 0], [7, 8, 0], [9, 3, 0]]),
    "context_roles": torch.tensor([[1, 2, 4], [5, 0, 0], [0, 0, 0], [1, 6, 0], [2, 2, 0]]),
}
"""For a batch of five: words of every kind, and a row without any."""


def small_config(**changes) -> VRFConfig:
    settings = {"word_dim": 12, "text_dim": 16, "embedding_dim": 8, "vocab_size": 30, "backbone": BACKBONE}
    return VRFConfig(**(settings | changes))


def small_model(seed: int = 0, **changes) -> VRFModel:
    torch.manual_seed(seed)
    return VRFModel(small_config(**changes))


def pad(phrases: list[list[int]], width: int | None = None) -> torch.Tensor:
    width = width or max(map(len, phrases))
    return torch.tensor([words + [0] * (width - len(words)) for words in phrases])


def random_phrases(rows: int, generator: torch.Generator, vocab_size: int = 30, longest: int = 4) -> list[list[int]]:
    lengths = torch.randint(1, longest + 1, (rows,), generator=generator).tolist()
    return [torch.randint(1, vocab_size, (length,), generator=generator).tolist() for length in lengths]


def random_batch(rows: int = 5, seed: int = 0, feature_dim: int = 96) -> dict[str, torch.Tensor]:
    """A batch of ready features; every second pre-action image is missing."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "action_ids": pad(random_phrases(rows, generator)),
        "object_ids": pad(random_phrases(rows, generator)),
        "pre_features": torch.randn(rows, feature_dim, generator=generator),
        "pre_mask": torch.arange(rows) % 2 == 0,
        "post_features": torch.randn(rows, feature_dim, generator=generator),
    }


def pixel_batch(rows: int = 4, seed: int = 0, size: int = 64) -> dict[str, torch.Tensor]:
    batch = random_batch(rows, seed)
    generator = torch.Generator().manual_seed(seed)
    for side in ("pre", "post"):
        del batch[f"{side}_features"]
        batch[f"{side}_pixel_values"] = torch.randn(rows, 3, size, size, generator=generator)
    return batch


class DeviceReads(TorchDispatchMode):
    """Records every operation that brings numbers of a tensor into Python, for which a GPU would have to wait.

    `bool`, `int`, `item` and `tolist` are all `_local_scalar_dense`; the others have a shape that depends on numbers.
    What torch's own LSTM reads are the lengths of packed phrases, which are on the CPU on every machine.
    """

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "equal")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None) -> Any:
        name = func.overloadpacket.__name__
        by_mask = name == "index" and any(places is not None and places.dtype == torch.bool for places in args[1])
        if (name in self.NAMES or by_mask) and self.find_reader() != nn.modules.rnn.__file__:
            self.found.append(name)
        return func(*args, **(kwargs or {}))

    @staticmethod
    def find_reader() -> str:
        """The file of the code that reads, behind what torch wraps around this class."""
        files = [frame.filename for frame in traceback.extract_stack()[:-2]]
        return next(file for file in reversed(files) if Path(file).name not in ("_compile.py", "eval_frame.py"))


class UnorderedSums(TorchDispatchMode):
    """Records every operation that several threads of a CPU do in an order that differs from run to run.

    That is the gradient of `rows[position]`, in which a row that was taken twice gets the sum of two gradients.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None) -> Any:
        name = func.overloadpacket.__name__
        if "index_put" in name and args[0].is_floating_point() and (args[3:4] or [False])[0]:
            indices = [index for index in args[1] if index is not None]
            places = torch.stack(torch.broadcast_tensors(*indices)).flatten(1)
            by_mask = indices[0].dtype == torch.bool  # which takes no row twice
            if not by_mask and places.unique(dim=1).shape[1] < places.shape[1]:
                self.found.append(name)
        return func(*args, **(kwargs or {}))


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    return 1 / (1 + torch.exp(-x))


def reference_direction(state: dict, inputs: list[torch.Tensor], suffix: str) -> torch.Tensor:
    """Run one direction of the LSTM over the words, in the order given, and return its last state."""
    name = "text_encoder.lstm."
    w_x, w_h = state[f"{name}weight_ih_l0{suffix}"], state[f"{name}weight_hh_l0{suffix}"]
    bias = state[f"{name}bias_ih_l0{suffix}"] + state[f"{name}bias_hh_l0{suffix}"]
    width = w_h.shape[1]
    h = c = torch.zeros(width, dtype=w_x.dtype)
    for x in inputs:
        gates = w_x @ x + w_h @ h + bias
        i, f, g, o = (gates[k * width : (k + 1) * width] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * torch.tanh(g)
        h = sigmoid(o) * torch.tanh(c)
    return h


def reference_phrase(state: dict, words: list[int]) -> torch.Tensor:
    vectors = [state["text_encoder.embedding.weight"][word] for word in words]
    ends = reference_direction(state, vectors, ""), reference_direction(state, vectors[::-1], "_reverse")
    return torch.cat(ends)


def reference_gated(state: dict, name: str, h: torch.Tensor) -> torch.Tensor:
    z = state[f"{name}.linear.weight"] @ h + state[f"{name}.linear.bias"]
    z = z * sigmoid(state[f"{name}.gate.weight"] @ z + state[f"{name}.gate.bias"])
    return z / (z * z).sum().sqrt()


def reference_query(
    state: dict, action: list[int] | None, object: list[int] | None, feature: torch.Tensor | None, has_image: bool
) -> torch.Tensor:
    """Equations 1 to 4 for one query; None is an input that the model does not use."""
    parts = [reference_phrase(state, words) for words in (action, object) if words is not None]
    if feature is not None:
        w, b = state["query_encoder.image_projection.weight"], state["query_encoder.image_projection.bias"]
        parts.append(w @ feature + b if has_image else torch.zeros_like(b))
    hidden = state["query_encoder.hidden.weight"] @ torch.cat(parts) + state["query_encoder.hidden.bias"]
    hidden = hidden * (hidden > 0)
    h_o = state["query_encoder.output.weight"] @ hidden + state["query_encoder.output.bias"]
    return reference_gated(state, "query_encoder.embedding", h_o)


def reference_image(state: dict, feature: torch.Tensor) -> torch.Tensor:
    """Equations 5 to 7 for one post-action image."""
    hidden = state["image_encoder.hidden.weight"] @ feature + state["image_encoder.hidden.bias"]
    hidden = hidden * (hidden > 0)
    h_i = state["image_encoder.output.weight"] @ hidden + state["image_encoder.output.bias"]
    return reference_gated(state, "image_encoder.embedding", h_i)


def reference_distance(t: torch.Tensor, v: torch.Tensor) -> float:
    return float(((t - v) ** 2).sum().sqrt())


def reference_loss(
    queries: torch.Tensor, images: torch.Tensor, ids: list[int], margin: float, negatives: str
) -> float:
    """Equations 8 and 9, pair by pair, for the choices of negatives that draw no lots."""
    pick = {"all": lambda hinges: sum(hinges) / len(hinges), "hardest": max}[negatives]
    total = 0.0
    for i in range(len(ids)):
        others = [j for j in range(len(ids)) if ids[j] != ids[i]]
        positive = reference_distance(queries[i], images[i])
        total += pick([max(positive - reference_distance(queries[i], images[j]) + margin, 0.0) for j in others])
        total += pick([max(positive - reference_distance(queries[k], images[i]) + margin, 0.0) for k in others])
    return total
