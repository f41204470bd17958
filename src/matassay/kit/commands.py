"""Commands: what an operator tells an instrument to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self, get_type_hints, overload

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from .parameters import Guard, Refused

if TYPE_CHECKING:
    from .instrument import Instrument

Pixel = Annotated[float, Field(ge=-1e5, le=1e5, allow_inf_nan=False)]
"""A coordinate in image pixels."""


class Command:
    """A method that the operator can call; made with `command`.

    Arguments come from the page, so they are checked against the method's annotations; a call that does not fit is
    refused like any other.
    """

    def __init__(self, fn: Callable[..., Any], label: str, guard: Guard | None, soft: bool) -> None:
        self.fn, self.name, self.guard, self.soft = fn, fn.__name__, guard, soft
        self.label = label or fn.__name__.replace("_", " ").capitalize()
        self.__doc__ = fn.__doc__

    @overload
    def __get__(self, instrument: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instrument: Instrument, owner: type | None = None) -> Callable[..., Any]: ...
    def __get__(self, instrument: Instrument | None, owner: type | None = None) -> Any:
        return self if instrument is None else lambda *args: self.operate(instrument, *args)

    def blocked(self, instrument: Instrument) -> str | None:
        """Why it cannot be given now, or None."""
        return self.guard(instrument) if self.guard else None

    def enabled(self, instrument: Instrument) -> bool:
        """Whether its control is live."""
        return self.soft or self.blocked(instrument) is None

    def operate(self, instrument: Instrument, *args: Any) -> None:
        """The operator's way in.

        Raises
        ------
        Refused
            If it is not possible now or the arguments do not fit.
        """
        if reason := self.blocked(instrument):
            raise Refused(reason)
        try:
            checked = self._arguments.validate_python(args)
        except ValidationError as error:
            raise Refused(f"{self.label}: {error.errors()[0]['msg']}") from None
        self.fn(instrument, *checked)

    @cached_property
    def _arguments(self) -> TypeAdapter[Any]:
        hints = get_type_hints(self.fn, include_extras=True)
        names = list(inspect.signature(self.fn).parameters)[1:]
        kinds = tuple(hints[n] for n in names)
        shape: Any = tuple.__class_getitem__(kinds)
        return TypeAdapter(shape, config=ConfigDict(allow_inf_nan=False))

    def spec(self) -> dict[str, Any]:
        """Fixed properties for the page."""
        return {"label": self.label}


@overload
def command(fn: Callable[..., Any], /) -> Command: ...
@overload
def command(
    *, label: str = "", guard: Guard | None = None, soft: bool = False
) -> Callable[[Callable[..., Any]], Command]: ...
def command(
    fn: Callable[..., Any] | None = None, /, *, label: str = "", guard: Guard | None = None, soft: bool = False
) -> Any:
    """Decorator that makes a method a `Command`.

    Parameters
    ----------
    label : str
        Text on the button, and its accessible name.
    guard : callable, optional
        Gives the reason why the command is not possible now, or None.
    soft : bool
        True leaves the button live while the guard holds: pressing it shows the reason.
    """
    if fn is not None:
        return Command(fn, "", None, False)
    return lambda f: Command(f, label, guard, soft)
