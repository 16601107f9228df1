"""The base of the objects of a report: typed members over the profile's JSON."""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, List, Optional, Type, TypeVar, Union, overload

T = TypeVar("T")
Self = TypeVar("Self", bound="Node")
Document = Dict[str, Any]


class Node:
    """An object of a report. Its members are read-only."""

    def __init__(self, data: Document, compilation: Document, where: str) -> None:
        """Wrap `data`, which is at `where` in the report with this compilation."""
        self._data = data
        self._compilation = compilation
        self._where = where

    def __repr__(self) -> str:
        name = self._data.get("name")
        return f"<{type(self).__name__} {name!r}>" if name else f"<{type(self).__name__}>"

    def _child(self, kind: Type[Self], name: str, index: Optional[int] = None) -> Self:
        """Return the object `name`, or entry `index` of the list of that name."""
        found = self._get(name)
        where = f"{self._where}.{name}"
        if index is not None:
            found, where = found[index], f"{where}[{index}]"
        return kind(found, self._compilation, where)

    def _get(self, name: str) -> Any:
        if name not in self._data:
            raise AttributeError(f"{self._where}.{name} is not in this report")
        return self._data[name]


class Value(Generic[T]):
    """A number or a text of the profile, by the name of the attribute."""

    def __init__(self, kind: Callable[[Any], T], doc: str) -> None:
        """Convert with `kind`. doc: the description."""
        self._kind = kind
        self.__doc__ = doc
        self._name = ""

    def __set_name__(self, owner: Type[Node], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, node: None, owner: Type[Node]) -> Value[T]: ...
    @overload
    def __get__(self, node: Node, owner: Type[Node]) -> T: ...
    def __get__(self, node: Optional[Node], owner: Type[Node]) -> Union[Value[T], T]:
        return self if node is None else self._kind(node._get(self._name))


class Child(Generic[Self]):
    """An object of the profile, by the name of the attribute."""

    def __init__(self, kind: Type[Self], doc: str) -> None:
        """Wrap in `kind`. doc: the description."""
        self._kind = kind
        self.__doc__ = doc
        self._name = ""

    def __set_name__(self, owner: Type[Node], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, node: None, owner: Type[Node]) -> Child[Self]: ...
    @overload
    def __get__(self, node: Node, owner: Type[Node]) -> Self: ...
    def __get__(self, node: Optional[Node], owner: Type[Node]) -> Union[Child[Self], Self]:
        return self if node is None else node._child(self._kind, self._name)


class Children(Generic[Self]):
    """A list of objects of the profile, by the name of the attribute."""

    def __init__(self, kind: Type[Self], doc: str) -> None:
        """Wrap each in `kind`. doc: the description."""
        self._kind = kind
        self.__doc__ = doc
        self._name = ""

    def __set_name__(self, owner: Type[Node], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, node: None, owner: Type[Node]) -> Children[Self]: ...
    @overload
    def __get__(self, node: Node, owner: Type[Node]) -> List[Self]: ...
    def __get__(self, node: Optional[Node], owner: Type[Node]) -> Union[Children[Self], List[Self]]:
        if node is None:
            return self
        count = len(node._get(self._name))
        return [node._child(self._kind, self._name, index) for index in range(count)]
