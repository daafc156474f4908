"""Which layers and networks need to know more of a graph than its edges."""

from collections.abc import Callable, Sequence

import torch_geometric.transforms as T
from torch_geometric.data import Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.transforms import BaseTransform

_Factory = Callable[[], BaseTransform | None]

_TRANSFORMS: dict[str, _Factory] = {}

_PAIRS: dict[str, Callable[[], int]] = {}


def prepares(name: str, factory: _Factory) -> None:
    """Says which transform gives a graph what a layer or a network needs.

    Args:
        name: What :obj:`gnn.layer_type` or :obj:`model.type` names.
        factory: Makes the transform that the configuration asks for, if any. What the transform
            says of itself must name all that its outcome depends on: it is kept under that name.
    """
    _TRANSFORMS[name] = factory


def is_prepared(name: str) -> bool:
    """Whether a layer or a network needs more than edges."""
    return name in _TRANSFORMS


def preparation() -> BaseTransform | None:
    """The transform that the configured network and layer need, if any."""
    names = dict.fromkeys((cfg.model.type, cfg.gnn.layer_type))
    made = [_TRANSFORMS[name]() for name in names if is_prepared(name)]
    transforms = [transform for transform in made if transform is not None]
    return composed(transforms) if transforms else None


def composed(transforms: Sequence[BaseTransform]) -> BaseTransform:
    """One transform for some, which is random if any of them is."""
    if len(transforms) == 1:
        return transforms[0]
    transform = T.Compose(transforms)
    transform.random = any(getattr(part, 'random', False) for part in transforms)
    return transform


def for_evaluation(transform: BaseTransform) -> BaseTransform:
    """A transform without those of its parts that say :obj:`training_only` of themselves."""
    parts = transform.transforms if isinstance(transform, T.Compose) else [transform]
    return composed([part for part in parts if not getattr(part, 'training_only', False)])


def prepared(batch: Data, attribute: str, transform: BaseTransform) -> Data:
    """A batch with a structure, which is found now if nobody has: GraphGym's own runner does not
    prepare graphs.

    Args:
        batch: The batch.
        attribute: What it has if it has the structure.
        transform: What finds the structure, made with the network, which it must fit.
    """
    return batch if attribute in batch else transform(batch)


def keeps_pairs(name: str, bytes_per_pair: Callable[[], int]) -> None:
    """Says that a network pads graphs to the largest of a batch, and keeps values for all pairs
    of their nodes.

    Args:
        name: What :obj:`model.type` names.
        bytes_per_pair: How many bytes the configured network keeps for a pair until the backward
            pass.
    """
    _PAIRS[name] = bytes_per_pair


def bytes_per_pair() -> int:
    """What the configured network keeps for every pair of nodes; 0 if for none."""
    count = _PAIRS.get(cfg.model.type)
    return 0 if count is None else count()
