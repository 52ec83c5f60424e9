"""Typed objects from JSON that a page sent: nothing is guessed, and everything else is refused with its place."""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from recipeflow.errors import RequestError, short, show


def read_value(hint: Any, value: Any, where: str) -> Any:
    """A value of this type from JSON."""
    if is_dataclass(hint):
        return read_object(hint, value, where)
    if typing.get_origin(hint) is tuple and isinstance(value, list):
        return tuple(read_value(typing.get_args(hint)[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    accepted = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if type(value) not in accepted:  # not isinstance: true is not a number here
        raise RequestError(f"{where}: expected {hint}, found {show(value)}")
    return value


def read_object(kind: type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise RequestError(f"{where}: expected an object, found {show(value)}")
    hints = typing.get_type_hints(kind)
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if missing := needed - value.keys():
        raise RequestError(f"{where}: expected {', '.join(sorted(missing))}, found only {short(sorted(value))}")
    if unknown := value.keys() - hints.keys():
        raise RequestError(f"{where}: expected {', '.join(hints)}, found {short(sorted(unknown))} too")
    return kind(**{name: read_value(hints[name], value[name], f"{where}.{name}") for name in value})
