"""Where the layers of a network are on tiles and IPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

MAPPINGS = ("capacity", "neurons", "linear")
SPLITS = ("layers", "neurons")


@dataclass(frozen=True)
class Placement:
    """The mapping of a network to tiles and IPUs.

    mapping: "capacity" balances the tiles by the slots that enter their neurons, "neurons" by the
        number of neurons; "linear" distributes every layer over all tiles.
    ipus: number of IPUs.
    split: "layers" maps each layer to one IPU; "neurons" maps a range of each layer's neurons to
        each IPU; None is "layers" if there is a layer for each IPU, else "neurons".

    Raises ValueError if a field is out of range.
    """

    mapping: str = "capacity"
    ipus: int = 1
    split: Optional[str] = None

    def __post_init__(self) -> None:
        if self.mapping not in MAPPINGS:
            raise ValueError(f"mapping must be {', '.join(MAPPINGS)}; got {self.mapping}")
        if self.ipus < 1:
            raise ValueError(f"ipus must be at least 1; got {self.ipus}")
        if self.split not in (None, *SPLITS):
            raise ValueError(f"split must be {', '.join(SPLITS)} or None; got {self.split}")
