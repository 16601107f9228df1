"""The arguments that layers pass on to their base classes, for editors and `help`.

Static tools read the types (PEP 692), `help` and notebooks the signature that
`shows_inherited_arguments` makes. The defaults are those of the base classes alone.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Type, TypeVar, Union

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    from ipulse_ops.keras.trained_constants import Trainable
    from ipulse_ops.keras.weights_in_use import Standardising
    from ipulse_ops.lif.placement import Placement
    from ipulse_ops.quantisation import Quantising
    from ipulse_ops.surrogate import Surrogate

    class KerasArguments(TypedDict, total=False):
        """The arguments of every Keras layer."""

        name: Optional[str]
        dtype: Any

    class NetworkArguments(KerasArguments, total=False):
        """The arguments of NetworkLayer besides its sizes."""

        reset: str
        reset_gradient: str
        reset_on: str
        delay: Union[int, Sequence[int]]
        surrogate: Union[Surrogate, Dict[str, Any], str]
        truncate: Optional[int]
        trainable: Trainable
        seed: int

    class SequenceArguments(NetworkArguments, total=False):
        """The arguments of SequenceLayer besides its sizes."""

        threads: int
        memory: str
        weights_dtype: str
        states_dtype: str
        stochastic_rounding: bool
        quantisation: Quantising
        standardised: Standardising
        return_membranes: bool
        input_scale: float
        time_major: bool
        backend: str
        placement: Union[Placement, Dict[str, Any]]
        tiles_per_ipu: int


Layer = TypeVar("Layer", bound=type)


def shows_inherited_arguments(layer: Layer, without: Sequence[str] = ()) -> Layer:
    """Give a class the signature of its constructor with the arguments of its base classes.

    A class decorator. Positional arguments are those of the first class that names some; keyword
    arguments are collected from each base class to which `**kwargs` are passed on, but for those
    of `without`, which the class sets itself.
    """
    positional: List[inspect.Parameter] = []
    keywords: Dict[str, inspect.Parameter] = {}
    for base in _constructors(layer):
        own = list(inspect.signature(base.__init__).parameters.values())[1:]
        named = [each for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
        passes_positions = any(each.kind is each.VAR_POSITIONAL for each in own)
        if not positional and not passes_positions:
            required = [each for each in named if each.default is each.empty]
            positional = required or named
        for each in own:
            if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD) and (
                each.default is not each.empty
            ):
                keywords.setdefault(each.name, each.replace(kind=each.KEYWORD_ONLY))
    names = {*without, *(each.name for each in positional)}
    keywords = {name: each for name, each in keywords.items() if name not in names}
    rest = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)
    layer.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # `inspect` reads it
        [*positional, *keywords.values(), rest]
    )
    return layer


def _constructors(layer: type) -> List[Type[Any]]:
    """Return the classes of this package that define a constructor, the most derived one first."""
    return [
        base
        for base in layer.__mro__
        if "__init__" in vars(base) and base.__module__.startswith("ipulse_ops.")
    ]
