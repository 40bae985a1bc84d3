"""A page and its views, declared once; what stands at the top of every page, and what you learn at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import streamlit as st

from pages.ui.inputs import presets
from pages.ui.inputs.glossary import explain_all, listen
from pages.ui.inputs.inactive_settings import Reasons, said
from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import FOLLOWED, Setting, in_a_row
from pages.ui.inputs.settings import CONTRIBUTIONS, EPSILON, PRESENT, get
from pages.ui.inputs.text import lit, prose, small_print
from pages.ui.jobs import jobs
from pages.ui.session import sessions
from pages.ui.tables import session_tables, store
from pages.ui.tables.experiment_inputs import inputs_now
from pages.ui.tables.result import progress
from treedp_core.figures.base.draft import unchecked
from treedp_core.notebook.cell import NOT_REVIEWED
from treedp_core.records import Dataset
from treedp_core.registry import CLAIM
from treedp_core.studies.methods.terms import text
from treedp_core.views.inputs import ReleaseInputs
from treedp_core.words import lower_first, plural, unbroken, whole

# What stands at the top of every page: its question, its badges, and the strip: what its figures were made from.

LOST: Final = ":material/history: No file is counted: a reload ends one, a link or a notebook without data has none."
BADGES: Final[Mapping[str, tuple[Literal["blue", "violet", "red", "orange"], str, str]]] = {
    "formula": ("blue", ":material/function:", text("formula")),
    "simulation": ("violet", ":material/casino:", text("simulation")),
    NOT_REVIEWED: ("orange", ":material/warning:", f"An entry of a plug-in was used: {CLAIM}."),
    "NOT PRIVATE": ("red", ":material/lock_open:", text("private")),
}


def header(title: str, lede: str, strip: str, badge: str, *, data: Dataset, chooses_source: bool = False) -> None:
    """Show a page's question, with its purpose to be asked for, and the strip: what the figures were made from.

    `badge` says what kind of numbers follow: "formula", "simulation" or "NOT PRIVATE"; several are joined by commas.
    `data` are those that the page is of. A page that `chooses_source` says itself when an uploaded data set is gone.
    """
    st.title(title, anchor=False, help=lede or None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for name in filter(None, map(str.strip, badge.split(","))):
            show_badge(name)
        st.session_state[_LINE] = line = _with_unit(strip, data)
        st.caption(unbroken(line), width="content")
    making = jobs.current(store.MAKING)
    if making is not None and making.error is None:
        st.info(f"The data set is being made; {lit(store.dataset().name, 40)} is shown meanwhile.")
        progress(store.MAKING, "Making it", "data sets", can_stop=False)
    if sessions.has_returned():
        _session_ended()
    elif store.is_lost() and not chooses_source:
        _lost()


def _with_unit(strip: str, data: Dataset) -> str:
    """Add to a strip whose records a file has, where it names the file: nobody is taken for one unit unasked."""
    if session_tables.file_of(data) is None or lit(data.name, 40) not in strip:
        return strip
    said, unit = data.not_reviewed.rstrip("."), store.unit_of(data)
    read_by = f" · {lit(lower_first(said), 120)}" if said else ""
    return f"{strip} · unit: {lit(unit, 40) if unit else 'not said yet'}{_bound(data, unit)}{read_by}"


def _bound(data: Dataset, unit: str) -> str:
    """How many records of a unit are protected, and how many were counted or are set, where that is another number."""
    counted, wanted = data.report.recipe.bound, CONTRIBUTIONS.value
    if not counted and unit:
        return ""
    most = inputs_now(ReleaseInputs).protected(data)
    said = "one record" if most == 1 else f"at most {plural(most, 'record')}"
    if wanted < most:
        return f", {said} counted and protected, {whole(wanted)} set"
    return f", {said}" if counted in (0, most) else f", {said} protected, {whole(counted)} counted"


def read_by_plugin(strip: str, data: Dataset) -> bool:
    """Whether a view is of data that a plug-in has read."""
    return bool(data.not_reviewed) and lit(data.name, 40) in strip


def _lost() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        small_print(LOST, width="content")
        if st.button("Choose a file", key="choose_file", type="tertiary", help="On the page Data and tree."):
            st.switch_page("pages/data.py")


def _session_ended() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        small_print(
            ":material/history: The session had ended: settings were kept, counts of a file were not.", width="content"
        )
        st.button(
            "Understood", key="session_ended", type="tertiary", on_click=sessions.dismiss, help="Hide this message."
        )


def show_badge(name: str) -> None:
    """Show what kind of numbers follow: "formula", "simulation" or "NOT PRIVATE"."""
    colour, icon, about = BADGES[name]
    st.badge(name, icon=icon, color=colour, help=about)


def explain(text: str) -> None:
    """Show a paragraph of explanation (Markdown of our own), unless the reader has switched explanations off."""
    if get("explain") and not get("present"):
        prose(text)


ROOT: Final = Path(__file__).parent.parent.parent.parent
STYLE_SHEET: Final = ROOT / "static" / "app.css"
FIRST_SCREEN: Final = "first_screen"
"""The key of what stands above the fold: static/app.css gives its figure the room that the rest leaves."""
NARROW: Final = "_is_narrow"
"""Where the session keeps whether the window is a phone's, as far as the browser has told."""
_SHOWN: Final = "_page_shown"
_SAID: Final = "_page_said"
_LINE: Final = "_page_line"
ROUTED: Final = threading.local()
"""Whether the router runs a page, by thread: a run of the script stays on one."""


class Told(NamedTuple):
    """What a view says of itself once it has been shown.

    Parameters
    ----------
    strip : str
        What the figures were made from (Markdown): see `Seen.line`.
    badges : str
        Kinds of numbers shown: "formula", "simulation", "NOT PRIVATE", joined by commas.
    learnt : str
        What one learns from what is shown just now (Markdown).
    more : function, optional
        Draws what stands under *More*: it runs once that is open.
    data : Dataset, optional
        What the strip names, where that is not the data set in use.
    """

    strip: str
    badges: str
    learnt: str = ""
    more: Callable[[], object] | None = None
    data: Dataset | None = None


@dataclass(frozen=True)
class View:
    """One view of a page.

    Parameters
    ----------
    name : str
        Its name in links; the page's switch says what it is called.
    show : function
        Draws it.
    learnt : str
        What one learns from it (Markdown), after the page's own.
    question : str
        What it answers: the heading of the page while it is shown.
    ignores : mapping
        The sidebar's settings that it does not use, and why: see `pages.ui.inputs.inactive_settings`.
    """

    name: str
    show: Callable[[], Told]
    learnt: str = ""
    question: str = ""
    ignores: Reasons = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: where it stands, what it asks, its settings and its views.

    Parameters
    ----------
    name : str
        Its file in pages/, and its address.
    title, icon, section, about : str
        Its line in the navigation: words, Material icon, heading above it, tooltip.
    heading : str
        The question it answers, above the page: by default its title. A view may have its own.
    lede : str
        What it does about that, in a sentence: the heading's tooltip.
    settings : tuple of Setting
        What a link carries of it, besides the settings every page shares.
    presets : tuple of Preset
        Settings that go together, offered first under *More*.
    views : tuple of View
        The first is shown at first; with several a switch is drawn.
    switch : Setting, optional
        Which view is shown: a choice of the views' names.
    beside : function, optional
        Draws what stands beside the switch.
    learnt : str
        What one learns (Markdown), whatever the view.
    asks_epsilon : bool
        Whether it shows the slider of ε itself, so that the sidebar does not; in a presentation and on a phone, where
        the sidebar is closed, every page does that uses it.
    chooses_source : bool
        Whether the page itself says when an uploaded data set is gone.
    file : str
        The file, where it is not in pages/.
    """

    name: str
    title: str
    icon: str
    section: str
    about: str
    heading: str = ""
    lede: str = ""
    settings: tuple[Setting[Any], ...] = ()
    presets: tuple[Preset, ...] = ()
    views: tuple[View, ...]
    switch: Setting[str] | None = None
    beside: Callable[[], object] | None = None
    learnt: str = ""
    asks_epsilon: bool = False
    chooses_source: bool = False
    file: str = ""

    def __post_init__(self) -> None:
        if self.switch is not None and [view.name for view in self.views] != list(self.switch.options or ()):
            raise ValueError(f"The views of {self.name!r} are not what its switch offers.")

    @property
    def path(self) -> str:
        """The file that Streamlit runs for it."""
        return self.file or f"pages/{self.name}.py"

    def streamlit(self, default: bool = False) -> st.Page:
        """Return it as the navigation takes it."""
        return st.Page(
            self.path, title=self.title, icon=f":material/{self.icon}:", url_path=self.name, help=self.about,
            default=default,
        )  # fmt: skip

    @property
    def uses_plugin(self) -> bool:
        """Whether a setting stands at an entry that is not TreeDP's own."""
        return any(one.is_not_reviewed for one in self.settings)

    @property
    def view(self) -> View:
        """The view that its switch stands at."""
        return next(view for view in self.views if self.switch is None or view.name == self.switch.value)

    @property
    def shows_epsilon(self) -> bool:
        """Whether the slider of ε stands on the page now, not in the sidebar."""
        has_no_sidebar = PRESENT.value or st.session_state.get(NARROW, False)
        return self.asks_epsilon or (has_no_sidebar and EPSILON.key not in said(self.view.ignores))

    @unchecked()
    def run(self) -> None:
        """Show it: the chosen view on the first screen, then what is under *More*, and what one learns."""
        _come_through_app(self)
        st.session_state[_SHOWN] = self
        with st.container(key=FIRST_SCREEN):
            heading = st.container(key="heading", gap="xsmall")
            listen()
            view = self._chosen()
            told = view.show()
            data = told.data or store.dataset()
            if NOT_REVIEWED not in told.badges and (self.uses_plugin or read_by_plugin(told.strip, data)):
                told = told._replace(badges=f"{told.badges}, {NOT_REVIEWED}")
            st.session_state[_SAID] = told.strip, told.badges
        with heading:
            title = view.question or self.heading or self.title
            symbols = explain_all(title, told.strip)
            lede = "\n\n".join(filter(None, (self.lede, symbols)))
            header(title, lede, told.strip, told.badges, data=data, chooses_source=self.chooses_source)
        if told.more is not None and not get("present"):
            self._more(view, told.more)
        if learnt := " ".join(part for part in (self.learnt, view.learnt, told.learnt) if part):
            explain(f"**What you learn.** {learnt}")

    def _more(self, view: View, show: Callable[[], object]) -> None:
        """Show what a view keeps below its first screen: closed in Basic, open in Advanced.

        A link that has just been followed opens it where it sets what the first screen has no control of.
        """
        level = get("level")
        key = "_".join(filter(None, ("more", self.name, view.name, level.lower())))
        followed = st.session_state.get(FOLLOWED, set()) & {one.key for one in self.settings}
        if followed:
            st.session_state[key] = True
        with st.expander("More", expanded=level == "Advanced", key=key, on_change="rerun") as more:
            if more.open:
                presets.draw(self.name, self.presets)
                show()

    def _chosen(self) -> View:
        """Draw the switch, if there is a choice; return the view it stands at."""
        with in_a_row():
            if self.shows_epsilon and not self.asks_epsilon:
                with st.container(width=360, key="epsilon_in_view", horizontal=True, vertical_alignment="center"):
                    st.markdown("ε", width="content")
                    EPSILON.draw(bare=True)
            if self.switch is not None:
                self.switch.draw(bare=True)
            if self.beside is not None:
                self.beside()
        return self.view


def shown() -> Page | None:
    """Return the page that is shown, or was in the last run."""
    found: Page | None = st.session_state.get(_SHOWN)
    return found


def strip_shown() -> str:
    """Return what the page said its figures were made from when it was last shown (Markdown)."""
    return str(st.session_state.get(_SAID, ("", ""))[0])


def line_shown() -> str:
    """Return the strip as it stands below the heading (Markdown), with the unit of its records."""
    return str(st.session_state.get(_LINE, ""))


def configure() -> None:
    """Set the title, the layout and the icon of the browser tab.

    The icon must be set before the navigation: else the browser takes the page's, and fetches it from the internet.
    """
    st.set_page_config(
        page_title="TreeDP",
        page_icon=str(ROOT / "static" / "favicon.svg"),  # absolute: a bare name would be looked up elsewhere
        layout="wide",
        initial_sidebar_state="collapsed" if PRESENT.value else "auto",
    )
    st.html(STYLE_SHEET)


def _come_through_app(page: Page) -> None:
    """Go on when the router runs a page; else have the browser come again, through `app.py`.

    Beside a `pages` folder Streamlit starts in its old mode, where the first visit to a page's address runs that file
    without `app.py`. Declaring a page leaves that mode for the whole process; the rerun comes through `app.py`.
    """
    if not getattr(ROUTED, "now", False):
        configure()
        st.navigation([st.Page(_nothing, title="TreeDP", url_path="nothing", default=True), page.streamlit()])
        st.rerun()


def _nothing() -> None:
    """Stand in for the home page: the page itself must not be it, or its address would be unknown."""
