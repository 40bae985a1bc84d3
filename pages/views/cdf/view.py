"""The views of the page CDF and ranges: controls, figures, and what stands under More."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import streamlit as st

from pages.ui.figure import frame
from pages.ui.figure.controls import draw_again
from pages.ui.figure.follow import Drag
from pages.ui.inputs.inactive_settings import NO_DELTA, NOTHING_DRAWN, ONE_REPLACED, PLAIN
from pages.ui.inputs.setting import in_a_row, take
from pages.ui.inputs.text import cards, small_print
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.tables import plans, tuning_provenance
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta
from pages.ui.tables.store import dataset, sample, sources, unit_of
from pages.views.cdf import settings as s
from pages.views.cdf import source
from pages.views.cdf.source import bins_in, choose
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.code import Ran, call
from treedp_core.plans import ReleasePlan
from treedp_core.plans.planned_noise import NO_PARTITION, NO_VIEWS
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Dataset
from treedp_core.studies.cdf import SECTION_VI
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.studies.cdf.matrices.plan import SEARCHES
from treedp_core.studies.cdf.matrices.workload import OWN, Ranges
from treedp_core.studies.cdf.pipelines import BOUND_BINS, SQUARES
from treedp_core.studies.cdf.release import NODES, PARTITION, STRATEGIES
from treedp_core.views import VIEWS, Tables, cdf
from treedp_core.views.cdf import CdfInputs, ExperimentInputs, OptimalInputs, PipelineInputs
from treedp_core.views.cdf.inputs import SAMPLE
from treedp_core.views.cdf.release import MANY_BINS
from treedp_core.views.cdf.words import range_in_words
from treedp_core.views.inputs import ReleaseInputs
from treedp_core.words import exact, halves, lower_first, setting_text, short, signed, whole

ERROR_IGNORES: Final = NOTHING_DRAWN | PLAIN | ONE_REPLACED
EXPERIMENT_IGNORES: Final = (
    NO_DELTA
    | PLAIN
    | {
        "eps": f"The published experiment is at ε = {setting_text(SECTION_VI[0].epsilon)}.",
        "nbr": "The published experiment replaces one record.",
    }
)
OPTIMAL_IGNORES: Final = ERROR_IGNORES
USE: Final = (
    s.VIEW.to("release"), s.MECHANISM.to("discrete_gaussian"), s.POST.to(True),
)  # fmt: skip
_SHOWN: Final = "_cdf_data_shown"
Released = TypeVar("Released", bound=ReleaseInputs)


def release() -> Told:
    """Show how far the band of a release reaches, beside those of other trees, and a range of it."""
    data, say_of_bins = choose(_controls)
    bins, tables = bins_in(data), sources().tables(VIEWS["cdf.release"], inputs_now(CdfInputs), data)
    _set_range(bins, *_bins_wanted(bins, tables.value))
    seen = see(
        VIEWS["cdf.release"], inputs_now(CdfInputs),
        of=lambda one: (_beside(one, data.value, [one.mechanism]), tables),
    )  # fmt: skip
    frame.found(seen, brush=partial(_brush, bins), drag=_range(bins))
    say_of_bins()
    note_of_delta([seen.inputs.mechanism], "cdf_set_delta", bins.total)
    tuning_provenance.note("cdf")
    _say_state(seen)
    return seen.told(more=partial(_more, seen, bins, data))


def _beside(inputs: Released, data: Dataset, mechanisms: Sequence[str]) -> Released:
    """Inputs with the δ of every page, where none is set and the page is of another table than the one in use."""
    if data is dataset():
        return inputs
    return replace(inputs, delta=inputs.delta_for(mechanisms, max(data.total, dataset().total)))


def _controls() -> None:
    """Show on which tree what is released, or what a matrix or a partition is made for."""
    if s.TREE.draw() == "own":
        s.FACTORS.draw()
    if s.TREE.value in STRATEGIES and s.WORKLOAD.draw() == OWN:
        with st.popover("Ranges", icon=":material/tune:", width="content"):
            source.show()
    s.MECHANISM.draw()


def _say_state(seen: Seen[CdfInputs]) -> None:
    """Say why it is refused, and offer noise that the matrix is for; or how far the search for one is."""
    strategy, search = STRATEGIES.get(seen.inputs.tree), SEARCHES.get(seen.inputs.tree)
    what = "Drawing a release" if strategy is None else f"Seeking the {strategy.label.lower()}"
    seen.say_state(what, "%" if search is None else search.unit)
    error = seen.result.error
    if strategy is not None and error is not None and error.code == "STRATEGY_NOISE":
        fit = strategy.mechanisms[0]
        st.button(f"Take {MECHANISMS[fit].label} noise", key="cdf_fit_noise", on_click=s.MECHANISM.set, args=(fit,),
                  help="Sets the mechanism of this page to one that the matrix is for.")  # fmt: skip


def _more(seen: Seen[CdfInputs], bins: Bins, data: Ran[Dataset]) -> None:
    with in_a_row():
        if seen.inputs.is_tree and s.ALLOCATION.draw() == "custom":
            s.SHARES.draw()
        if seen.inputs.is_tree and s.MECHANISM.value == "discrete_gaussian":
            s.ACCOUNTING.draw()
        s.FIT.draw()
        s.POST.draw()
        if seen.inputs.is_tree and not s.POST.value:
            s.ESTIMATE.draw()
        draw_again("cdf_draw")
    low, high = bins.ends(0, bins.n_within)
    for column, end in zip(st.columns(2), (s.FROM, s.TO), strict=True):
        with column:
            end.said(low=low, high=high, step=bins.step).draw()
    if seen.finding.is_empty:
        return
    own = section(seen, "own")
    if not own.finding.is_empty:
        st.header("Own ranges", anchor=False)
        frame.found(own, formats={"released": halves, "st. dev. (records)": short}, width="content")
    frame.found(section(seen, "errors"), brush=partial(_brush, bins))
    start, stop, _ = seen.found_for.bins_between(bins)
    st.header(f"Records from {range_in_words(bins, start, stop)}", anchor=False)
    if bins.n_bins > MANY_BINS:
        s.COMPARE.draw()
    formats: dict[str, Any] = {"released": halves, "st. dev.": short, of_truth("error"): signed}
    frame.found(section(seen, "range"), formats=formats, width="content")
    st.header("Quantiles", anchor=False)
    quantiles = section(seen, "quantiles")
    formats = dict.fromkeys(list(quantiles.finding.table)[1:], exact) if bins.numeric else {}
    frame.found(quantiles, formats=formats, width="content")
    frame.found(section(seen, "distance"))
    frame.found(section(seen, "spent"), width="content")
    if seen.found_for.tree == PARTITION:
        _partition(seen)
    elif seen.inputs.is_tree and not s.POST.value and s.ESTIMATE.value != NODES:
        small_print(f":material/block: {NO_VIEWS}")
    else:
        plans.button("cdf", partial(_plan, seen, data), "from CDF and ranges")


def _partition(seen: Seen[CdfInputs]) -> None:
    """Show when a partition pays, and why DAWA's own first stage is none."""
    st.header("When a partition pays", anchor=False)
    frame.found(section(seen, "when"), formats={"ε": setting_text, "N × ε": short, "buckets": short}, width="content")
    st.header("DAWA's own first stage", anchor=False)
    formats = {"P(three single bins)": short, "loss": short, "spent by its own account": setting_text}
    frame.found(section(seen, "dawa"), formats=formats, width="content")
    small_print(f":material/block: {NO_PARTITION}")


def _plan(seen: Seen[CdfInputs], data: Ran[Dataset]) -> Ran[ReleasePlan]:
    """The plan of what is released here, of which the data set that the bins come from knows more."""
    more: dict[str, Any] = {**tuning_provenance.of_plan(seen.found_for.origin)}
    if (done := seen.called.done) is not None:
        more["slow"] = done
    return call(cdf.release_plan, seen.found_for, seen.tables, whom=unit_of(data.value), **more).named("plan")


def _set_range(bins: Bins, start: int, stop: int) -> None:
    for end, value in zip((s.FROM, s.TO), bins.ends(start, stop), strict=True):
        end.set(value)


def _brush(bins: Bins, start: float, stop: float) -> None:
    """Take the range that was dragged over a figure, rounded to edges of bins."""
    _set_range(bins, bins.bin_at(start), bins.bin_at(stop))


def _range(bins: Bins) -> Drag:
    """The range that is dragged over the figure: both ends, in the unit of its axis."""

    def read(text: str) -> dict[str, Any]:
        start, stop = sorted(checks.number("range", float(end)) for end in text.split())
        return dict(zip(("start", "stop"), bins.ends(bins.bin_at(start), bins.bin_at(stop)), strict=True))

    return Drag("brush", (s.FROM.key, s.TO.key), "", read, is_on_figure=True)


def _bins_wanted(bins: Bins, tables: Tables) -> tuple[int, int]:
    """Edges nearest to the range asked for, where it was meant for these data and ranges of one's own.

    Else what `CdfInputs.anew` has. It was meant for others when no bin of these is left in it, or when others, or the
    ages that its default is for, came before.
    """
    inputs = inputs_now(CdfInputs)
    try:
        own: Ranges = inputs.own_ranges(tables)
    except InputError:
        own = ()
    wanted = s.FROM.value, s.TO.value
    start, stop = (bins.bin_at(end) for end in wanted)
    is_default = wanted == (s.FROM.default, s.TO.default)
    here = (bins.fingerprint, own)
    before = st.session_state.get(_SHOWN, (sample(SAMPLE).fingerprint, ()) if is_default else here)
    st.session_state[_SHOWN] = here
    is_lost = start == stop and wanted[0] != wanted[1]
    if is_lost or before[0] != bins.fingerprint or (before != here and own):
        return inputs.anew(bins, own if before != here else ())
    return start, stop


def error() -> Told:
    """Show the errors as curves, and beside them at your ε."""
    data, say_of_bins = choose(s.BINS.draw)
    entry = VIEWS["cdf.error"]
    seen = see(
        entry, inputs_now(PipelineInputs),
        of=lambda one: sources().of_view(entry, _beside(one, data.value, ["gaussian"]), data),
    )  # fmt: skip
    frame.found(seen)
    say_of_bins()
    seen.say_state("")
    return seen.told(more=partial(_more_of_error, seen))


def _more_of_error(seen: Seen[PipelineInputs]) -> None:
    error = "RMSE of a cumulative count"
    frame.found(section(seen, "at"), formats={SQUARES: halves, "× the best": short, error: short})
    st.header("ℓ₁: mean absolute errors", anchor=False)
    frame.found(section(seen, "absolute"))
    frame.found(section(seen, "named"), formats={"÷ best found tree": short, error: short})


def experiment() -> Told:
    """Show how close better pipelines come than the published one."""
    with in_a_row():
        s.TRIALS.draw()
        s.NORM.draw()
    seen = see(VIEWS["cdf.experiment"], inputs_now(ExperimentInputs))
    frame.found(seen)
    seen.say_state("Repeating the experiment", "runs")
    return seen.told(more=partial(_more_of_experiment, seen))


def _more_of_experiment(seen: Seen[ExperimentInputs]) -> None:
    if seen.slow is not None and seen.slow.value is not None:
        cards(cdf.headline(seen.slow.value.gains))
    frame.found(section(seen, "paper"))


def optimal() -> Told:
    """Show how far trees are from the least error as bars, worst first, and release with the matrix."""
    data, say_of_bins = choose(_asked)
    entry = VIEWS["cdf.optimal"]
    seen = see(
        entry, inputs_now(OptimalInputs),
        of=lambda one: sources().of_view(entry, _beside(one, data.value, ["gaussian"]), data),
    )  # fmt: skip
    frame.found(seen)
    say_of_bins()
    asked = seen.inputs.bins
    asked = whole(int(asked)) if asked.isdecimal() else asked
    seen.say_state(f"Seeking the bound for K = {asked} (K = {BOUND_BINS} is shown)", "rounds")
    _use(bins_in(data).n_within)
    return seen.told(more=lambda: frame.found(section(seen, "any")))


def _asked() -> None:
    s.BINS.draw()
    s.QUERIES.draw()


def _use(n_bins: int) -> None:
    """Show the button that releases the bins of the data, by the square-root matrix where the optimal takes fewer."""
    tree, why = "optimal", ""
    if n_bins > MAX_BOUND_BINS:
        tree = "root"
        why = f" The data have {whole(n_bins)} bins; the optimal matrix takes at most {whole(MAX_BOUND_BINS)}."
    st.button(
        f"Release with the {lower_first(STRATEGIES[tree].label)}", key="cdf_use", type="primary", on_click=take,
        args=((*USE, s.TREE.to(tree), s.WORKLOAD.to(s.QUERIES.value)),),
        help=f"Shows the error band of one release of the bins of the data by it, with discrete Gaussian noise.{why}",
    )  # fmt: skip
