"""A parameter as a control of a page: its value in this session, its words, and how it looks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.inputs import glossary
from treedp_core.registry import Table
from treedp_core.studies.methods.terms import explained
from treedp_core.views import parameters
from treedp_core.views.parameters import MAX_TEXT, Check, Parameter
from treedp_core.words import setting_text

T = TypeVar("T")
Look = Literal["", "segments", "pills", "select", "slider", "number", "text", "toggle"]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How a setting looks: what its line says of its control.

    Parameters
    ----------
    label, help : str
        The control's words; without help, what the options say of themselves.
    look : str
        The kind of control, where it is not the usual one for the kind of value.
    format : function, optional
        A choice or a number in words; by default an option's label.
    width : int or {"stretch", "content"}
    placeholder : str
        What an empty text field shows.
    low, high, step : number, optional
        Ends and step of a field or slider of numbers.
    stops : function, optional
        Where a slider can stand, where that is not the grid.
    """

    label: str = ""
    help: str = ""
    look: Look = ""
    format: Callable[[Any], str] | None = None
    width: int | Literal["stretch", "content"] | None = None
    placeholder: str = ""
    low: float | None = None
    high: float | None = None
    step: float | None = None
    stops: Callable[[], list[Any]] | None = None


class Chosen(NamedTuple):
    """A setting and a value for it: see `Setting.to`."""

    setting: Setting[Any]
    value: Any


def take(chosen: Iterable[Chosen]) -> None:
    """Give settings the values chosen for them."""
    for one in chosen:
        one.setting.set(one.value)


MOST_STOPS: Final = 100
OF_TREE: Final = "_of"
"""Behind the key of a node: of which tree it was when the user walked there."""
FOLLOWED: Final = "_set_by_link"
"""In the session: keys of the settings set by a link that this run follows, and not drawn so far."""


@dataclass(frozen=True, kw_only=True)
class Setting(Parameter[T]):
    """A linkable setting, declared once: what it may be, what it says, and its control.

    Its key is that of its widget, too; that of one with many values holds a list.

    Parameters
    ----------
    drawn : Drawn
        Its control.
    own : object, optional
        The value it takes when a table of one's own comes into use, so that every page works on it.
    at_first : object, optional
        The value a session begins with where the app was started with one; what is saved names it, as it is no default.
    """

    drawn: Drawn = Drawn()
    own: Any = None
    at_first: Any = None

    def fresh(self) -> Any:
        """Return the default, as its widget holds it."""
        return list(self.default) if isinstance(self.default, tuple) else self.default

    @property
    def value(self) -> T:
        """Its value in this session, valid on every page; a list-valued one as a tuple."""
        held: Any = st.session_state.get(self.key, self.fresh())
        if held is None or not self.accepts(held):
            return self.default
        return tuple(held) if self.is_many else held  # type: ignore[return-value]  # a tuple is what T is then

    @property
    def is_not_reviewed(self) -> bool:
        """Whether it stands at an entry of a table that is not TreeDP's own: a plug-in's."""
        chosen: Any = self.value if self.is_many else (self.value,)
        return isinstance(self.options, Table) and any(self.options.author(name) for name in chosen)

    def set(self, value: T) -> None:
        """Give it a value, before its control is drawn or in a callback; a node is one of whatever tree is in use."""
        st.session_state.pop(f"{self.key}{OF_TREE}", None)
        st.session_state[self.key] = list(value) if isinstance(value, tuple) else value

    def to(self, value: T) -> Chosen:
        """Return what sets it to a value, for a button to take."""
        return Chosen(self, value)

    def label_of(self, option: Any) -> str:
        """Return what a choice is called on screen."""
        if self.drawn.format is not None:
            return self.drawn.format(option)
        entry = self.options[option] if isinstance(self.options, Mapping) else option
        return str(getattr(entry, "label", entry))

    @property
    def help(self) -> str | None:
        """What the control explains: its own words, else those of its options."""
        entries = self.options.values() if isinstance(self.options, Mapping) else ()
        told = [f"**{one.label}**: {one.help}" for one in entries if getattr(one, "help", "")]
        return "\n\n".join([self.drawn.help, *told]).strip() or None

    def _explained(self, label: str) -> str | None:
        """What the control explains, with the symbols of its label."""
        told = self.help or ""
        lines = [one for one in explained(label).splitlines() if one.partition(": ")[2].strip() not in told]
        return "\n\n".join(filter(None, (told, *lines))) or None

    def said(self, **drawn: Any) -> Setting[T]:
        """Return the same setting with other words on its control, as `Drawn` takes them."""
        return replace(self, drawn=replace(self.drawn, **drawn))

    def draw(
        self,
        *,
        disabled: bool = False,
        offered: Collection[Any] | None = None,
        label: str = "",
        bare: bool = False,
        on_change: Callable[[], None] | None = None,
    ) -> T:
        """Show its control and return its value; `offered` are the choices that can be had now, by default all.

        A `bare` one shows no label: its choices say enough.
        """
        common: dict[str, Any] = {
            "label": label or self.drawn.label, "key": self.key, "persist_state": "session", "disabled": disabled,
            "help": None if bare else self._explained(label or self.drawn.label), "on_change": on_change,
            "label_visibility": "collapsed" if bare else "visible",
            **({"width": self.drawn.width} if self.drawn.width is not None else {}),
        }  # fmt: skip
        choices = self.options if offered is None else offered
        glossary.said(label or self.drawn.label, *map(self.label_of, choices or ()))
        st.session_state.get(FOLLOWED, set()).discard(self.key)
        _CONTROLS[self.drawn.look or self._usual_look()](self, common, offered)
        return self.value

    def stops(self) -> list[Any]:
        """Return where its slider can stand; nothing where it has another control, or so many places that it glides."""
        if (self.drawn.look or self._usual_look()) != "slider":
            return []
        if self.grid:
            return self._offered(None)
        ends, kind = self._ends(), cast("type[Any]", type(self.default))
        if set(ends) < {"min_value", "max_value", "step"}:
            return []
        n_steps = round((ends["max_value"] - ends["min_value"]) / ends["step"])
        return [] if n_steps > MOST_STOPS else [
            kind(round(ends["min_value"] + at * ends["step"], 10)) for at in range(n_steps + 1)
        ]  # fmt: skip

    @property
    def is_typed(self) -> bool:
        """Whether it is a field for text or a number."""
        return (
            bool(self.drawn.label)
            and not self.is_many
            and (self.drawn.look or self._usual_look()) in ("text", "number")
        )

    def written(self, value: Any) -> str:
        """Return what its slider says that it stands at."""
        return self.label_of(value) if self.grid else setting_text(value)

    def _usual_look(self) -> Look:
        if self.options is not None:
            return "pills" if self.is_many else "segments"
        if isinstance(self.default, bool):
            return "toggle"
        return "text" if isinstance(self.default, str) else "slider" if self.grid else "number"

    def _offered(self, offered: Collection[Any] | None) -> list[Any]:
        if offered is not None:
            return list(offered)
        if self.options is not None:
            return list(self.options)
        return self.choices(self.value) if self.drawn.stops is None else self.drawn.stops()

    def _ends(self) -> dict[str, Any]:
        """The ends and the step of a control of numbers, of the value's own type."""
        kind: Any = type(self.default)
        ends = {"min_value": self.drawn.low, "max_value": self.drawn.high, "step": self.drawn.step}
        return {name: kind(end) for name, end in ends.items() if end is not None}

    def _digits(self) -> dict[str, Any]:
        """No more digits of a decimal number than it has."""
        return {"format": "%g"} if isinstance(self.default, float) else {}


def _segments(one: Setting[Any], common: dict[str, Any], offered: Collection[Any] | None) -> None:
    st.segmented_control(options=one._offered(offered), required=True, format_func=one.label_of, **common)


def _pills(one: Setting[Any], common: dict[str, Any], offered: Collection[Any] | None) -> None:
    how: dict[str, Any] = {"selection_mode": "multi"} if one.is_many else {"required": True}
    st.pills(options=one._offered(offered), format_func=one.label_of, **how, **common)


def _select(one: Setting[Any], common: dict[str, Any], offered: Collection[Any] | None) -> None:
    show: Any = st.multiselect if one.is_many else st.selectbox
    hint = {"placeholder": one.drawn.placeholder} if one.drawn.placeholder else {}
    show(options=one._offered(offered), format_func=one.label_of, **hint, **common)


def _slider(one: Setting[Any], common: dict[str, Any], offered: Collection[Any] | None) -> None:
    if one.grid or offered is not None:
        st.select_slider(options=one._offered(offered), format_func=one.label_of, **common)
    else:
        st.slider(**one._ends(), **one._digits(), **common)


def _field(one: Setting[Any], common: dict[str, Any], offered: Collection[Any] | None) -> None:
    ends = one._ends()
    if offered is not None:
        ends |= {"min_value": min(offered), "max_value": max(offered)}
        one.set(min(max(one.value, ends["min_value"]), ends["max_value"]))
    st.number_input(**ends, **one._digits(), **common)


def _text(one: Setting[Any], common: dict[str, Any], offered: Collection[Any] | None) -> None:
    st.text_input(max_chars=MAX_TEXT, placeholder=one.drawn.placeholder or None, **common)


def _toggle(one: Setting[Any], common: dict[str, Any], offered: Collection[Any] | None) -> None:
    st.toggle(**common)


_CONTROLS: Final[Mapping[str, Callable[[Setting[Any], dict[str, Any], Collection[Any] | None], None]]] = {
    "segments": _segments, "pills": _pills, "select": _select, "slider": _slider, "number": _field, "text": _text,
    "toggle": _toggle,
}  # fmt: skip


def key_of(*parts: object) -> str:
    """Return what tells the key of a control of these parts from that of others, the same after a restart.

    >>> key_of("region", 3)
    '2d718f84'
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def in_a_row() -> DeltaGenerator:
    """Return a row of controls, one beside the other: to be entered by ``with``."""
    return st.container(horizontal=True, gap="small", vertical_alignment="bottom")


def control(parameter: Parameter[T], *, own: Any = None, **drawn: Any) -> Setting[T]:
    """Return the setting of a page that a parameter is, with the words of its control: see `Drawn` and `Setting`."""
    shared = {one.name: getattr(parameter, one.name) for one in fields(Parameter)}
    return Setting(**shared, drawn=Drawn(**{"label": parameter.label, **drawn}), own=own)


def number(
    key: str, default: float, check: Check, *, grid: tuple[float, ...] = (), code: str = "VALUE", **drawn: Any
) -> Setting[float]:
    """Return a setting that is a decimal number: see `parameters.number`."""
    return control(parameters.number(key, default, check, grid=grid, code=code), **drawn)


def whole(
    key: str, default: int, low: int, high: int, *, code: str = "VALUE_RANGE", grid: tuple[int, ...] = (), **drawn: Any
) -> Setting[int]:
    """Return a setting that is a whole number in [low, high]: see `parameters.whole`."""
    ends = {"low": low, "high": high, "step": 1, **drawn}
    return control(parameters.whole(key, default, low, high, code=code, grid=grid), **ends)


def choice(
    key: str, default: str, options: Mapping[str, Any] | Collection[str], *, own: str | None = None, **drawn: Any
) -> Setting[str]:
    """Return a setting that is one of the names in `options`: see `parameters.choice`."""
    return control(parameters.choice(key, default, options, label=drawn.get("label", "")), own=own, **drawn)


def several(
    key: str, default: tuple[str, ...], options: Mapping[str, Any] | Collection[str], **drawn: Any
) -> Setting[tuple[str, ...]]:
    """Return a setting that is any number of the names in `options`: see `parameters.several`."""
    return control(parameters.several(key, default, options, label=drawn.get("label", "")), **drawn)


def flag(key: str, default: bool, **drawn: Any) -> Setting[bool]:
    """Return a setting that is on or off: see `parameters.flag`."""
    return control(parameters.flag(key, default), **drawn)


def words(
    key: str, default: str, check: Callable[[str], object] = str, *, own: str | None = None, **drawn: Any
) -> Setting[str]:
    """Return a setting that is a short text: see `parameters.words`."""
    return control(parameters.words(key, default, check), own=own, **drawn)


def tuned_on(key: str) -> Setting[str]:
    """Return a setting that says what shares were tuned on; nothing for shares that look at nothing."""
    return control(parameters.tuned_on(key))
