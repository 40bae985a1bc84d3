"""Repeated releases on the page TopDown: projections side by side, and which column should come first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import call, given
from pages.ui.text import lit, short, whole
from pages.views.topdown import controls, state, tables
from pages.views.topdown import draw as one_release
from pages.views.topdown import runs as simulations
from pages.views.topdown.runs import MEASURES, ORDER_MEASURES, RuleResult
from pages.views.topdown.state import Result
from pages.views.topdown.view import what_tree
from treedp_core.checks import InputError
from treedp_core.figures.topdown import BiasLine, Dot, bias_by_count, dots
from treedp_core.studies.topdown import OrderResult
from treedp_core.studies.topdown.model import RULES
from treedp_core.studies.topdown.subject import Subject
from treedp_core.words import plus_minus, privacy_text

RULES_SLOT: Final = "td_rules"
ORDERS_SLOT: Final = "td_orders"
UNBIASED_ENOUGH: Final = 2.0


def rules(what: Subject) -> None:
    """Show what every projection does to the leaves, over repeated releases."""
    controls.budget(what)
    st.markdown(
        "Every rule turns the same noisy counts into counts of at least 0 that add up. None costs privacy; they differ "
        "in what they do to small counts."
    )
    settings = _settings(what)
    result = None
    if settings is not None:
        asked = simulations.without_rule(settings)
        trials, seed = get("td_trials"), get("seed")
        key = (what.fingerprint, asked, trials, seed)
        work = partial(simulations.compare_rules, what, asked, trials, seed)
        start = partial(state.start, RULES_SLOT, key, trials, _about(what, asked, trials, seed), work)
        controls.runs(RULES_SLOT, "td_rules", start, "Release the same records again and again, by every projection.")
        result = _result(RULES_SLOT, what, key)
    result = result or _earlier(RULES_SLOT, what)
    if result is None:
        st.info("Press **Run** to compare the projections on these records.", icon=":material/play_arrow:")
        return
    _rules_shown(what, result)


def _settings(what: Subject) -> Any:
    """The settings of a release; None below a refusal."""
    try:
        chosen = state.wanted(what)
        chosen.plan(what)
    except InputError as error:
        refusal(error)
        return None
    return chosen


def _about(what: Subject, asked: Any, trials: int, seed: int) -> str:
    split = "equal shares" if asked.shares is None else "custom shares"
    return (
        f"{what_tree(what)}; ρ = {privacy_text(asked.rho)}, {split}, {asked.unit.relation.label.lower()}, "
        f"{whole(trials)} runs, seed {seed}"
    )


def _result(slot: str, what: Subject, key: Any) -> Result | None:
    """Show the progress of a simulation; return its last result of these records, saying so when it is stale."""
    state.progress(slot)
    found = _earlier(slot, what)
    if found is not None and found.key != key:
        st.caption(f":material/info: Computed for {found.about}; press **Run** for the present settings.")
    return found


def _earlier(slot: str, what: Subject) -> Result | None:
    kept = state.last(slot)
    found: Result | None = kept[0] if kept else None
    return found if found is not None and found.key[0] == what.fingerprint else None


def _rules_shown(what: Subject, result: Result) -> None:
    found: list[RuleResult] = result.result
    again = given(found, simulations.compare_rules, state.again(what), *result.key[1:]).named("found")
    _sentence(found)
    st.selectbox(
        "Measure", list(MEASURES), key="td_measure", persist_state="session", width=330,
        format_func=MEASURES.__getitem__, help="Of all leaves, in one release; averaged over the runs.",
    )  # fmt: skip
    measure = get("td_measure")
    rows = [Dot(RULES[one.rule].label, one.mean[measure], one.se[measure], one.rule == get("td_rule")) for one in found]
    best = min(rows, key=lambda row: abs(row.mean))
    frame.figure(
        dots(rows, x_title=MEASURES[measure]),
        key="td_rules_dots",
        alt=f"{MEASURES[measure]} of every projection: the smallest is {best.label} with {short(best.mean)}.",
        caption="NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 1.96 standard errors; filled: "
        f"the chosen projection. {result.about}. All see the same noise where the tree is laid out, so differences "
        "are surer than the bars. Simulation.",
        ran=call(tables.rule_table, again),
    )  # fmt: skip
    st.dataframe(
        {"projection": [RULES[one.rule].label for one in found]}
        | {label: [f"{short(one.mean[name])}{plus_minus(one.se[name])}" for one in found]
           for name, label in MEASURES.items()},
        hide_index=True, alt="Every measure of every projection, with 95 % intervals",
    )  # fmt: skip
    st.caption("Mean over the runs ± its 95 % interval. NOT PRIVATE. Simulation.")
    sizes = one_release.size_names(found[0].bias)
    lines = [BiasLine(RULES[one.rule].label, one.bias.bias, one.bias.standard_error) for one in found]
    frame.figure(
        bias_by_count(sizes, lines),
        key="td_rules_bias",
        alt="Bias of leaves by size of their true count, for every projection.",
        caption="NOT PRIVATE: bias of a leaf by its true count, mean over leaves and runs; bars: 1.96 standard errors "
        f"over the runs. {result.about}. Simulation.",
        ran=call(tables.rule_bias_table, again),
    )  # fmt: skip


def _sentence(found: list[RuleResult]) -> None:
    """Say what IntOpt and water filling trade, and whether least squares first helps, where the runs tell."""
    by_name = {one.rule: one for one in found}
    first, other = by_name["intopt"], by_name["water_filling"]
    lines = [
        f"**IntOpt** fills {_rounded(first, 'spurious')} empty leaves and loses {_rounded(first, 'lost')}, "
        f"**water filling** {_rounded(other, 'spurious')} and {_rounded(other, 'lost')}; "
        f"their RMSE is {short(first.mean['rmse'])} and {short(other.mean['rmse'])} records. IntOpt takes from the "
        "smallest counts first, so it is sparser; water filling is closest in every distance at once."
    ]
    if "ls_water_filling" in by_name:
        after = by_name["ls_water_filling"]
        change = after.mean["rmse"] / other.mean["rmse"] - 1
        apart = abs(after.mean["rmse"] - other.mean["rmse"]) / max(
            1e-300, float(np.hypot(after.se["rmse"], other.se["rmse"]))
        )
        told = "" if apart > UNBIASED_ENOUGH else " (within the simulation's error)"
        lines.append(
            f"Least squares before water filling changes the RMSE of a leaf by {_signed(100 * change)} %{told}."
        )
    st.markdown("  \n".join(lines))


def _signed(x: float) -> str:
    """Return a change in two digits, with its sign.

    >>> _signed(-0.784), _signed(3.21)
    ('−0.78', '+3.2')
    """
    return f"{x:+.2g}".replace("-", "−")


def _rounded(one: RuleResult, measure: str) -> str:
    return whole(round(one.mean[measure]))


# ---- which column first?


def orders(what: Subject) -> None:
    """Show the errors of several orders of the columns."""
    controls.budget(what)
    if not what.is_product or len(what.columns) < 2:
        st.info(
            "The order can be chosen where the levels are columns of which every combination is a leaf, two or more of "
            "them. Choose the trips, or all combinations of the columns.", icon=":material/swap_vert:",
        )  # fmt: skip
        return
    compared = simulations.orders_of(what)
    st.markdown(
        f"Which attribute first? The first column's counts bear one level's noise and projection, the last one's all "
        f"of them. {len(compared)} orders are simulated at the same ρ, with equal shares."
    )
    settings = _settings(what)
    result = None
    if settings is not None:
        asked, trials, seed = _equal(settings), get("td_trials"), get("seed")
        key = (what.fingerprint, asked, trials, seed)
        work = partial(simulations.run_orders, what, asked, trials, seed)
        start = partial(state.start, ORDERS_SLOT, key, trials * len(compared), _about(what, asked, trials, seed), work)
        controls.runs(ORDERS_SLOT, "td_orders", start, "Release the records under every order, again and again.")
        result = _result(ORDERS_SLOT, what, key)
    result = result or _earlier(ORDERS_SLOT, what)
    if result is None:
        st.info("Press **Run** to compare the orders.", icon=":material/play_arrow:")
        return
    _orders_shown(what, result)


def _equal(settings: Any) -> Any:
    """The same settings with equal shares, as the levels change their columns, and a rule that needs no tree."""
    rule = settings.rule if RULES[settings.rule].sparse else "intopt"
    return type(settings)(settings.rho, settings.delta, settings.unit, None, settings.spread, rule)


def _orders_shown(what: Subject, result: Result) -> None:
    found: list[OrderResult] = result.result
    _, asked, trials, seed = result.key
    again = given(found, simulations.run_orders, state.again(what), asked, trials, seed).named("found")
    st.selectbox("Measure", list(ORDER_MEASURES), key="td_order_measure", persist_state="session", width=400,
                 format_func=ORDER_MEASURES.__getitem__, help="Averaged over the runs.")  # fmt: skip
    measure = get("td_order_measure")
    mean, se = simulations.order_values(found, measure)
    names = [" › ".join(what.columns[i] for i in one.order) for one in found]
    ranked = np.argsort(mean, kind="stable")
    best, worst = int(ranked[0]), int(ranked[-1])
    apart = (mean[worst] - mean[best]) / max(1e-300, float(np.hypot(se[worst], se[best])))
    told = "" if apart > UNBIASED_ENOUGH else " The runs cannot tell them apart."
    st.markdown(
        f"Smallest: {_told(what, found[best])} with {short(mean[best])}{plus_minus(se[best])}; largest: "
        f"{_told(what, found[worst])} with {short(mean[worst])}{plus_minus(se[worst])}.{told}"
    )
    frame.figure(
        dots([Dot(names[i], float(mean[i]), float(se[i]), i == 0) for i in ranked], x_title=ORDER_MEASURES[measure]),
        key="td_orders_dots",
        alt=f"{ORDER_MEASURES[measure]} by order of the columns; smallest with {names[best]}.",
        caption=f"NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 1.96 standard errors; filled: "
        f"the present order. {RULES[asked.rule].label}. {result.about}. To choose the order by the true counts "
        "would itself reveal something: choose it on public or made-up data. Simulation.",
        ran=call(tables.order_table, again, what.columns, measure),
    )  # fmt: skip
    _marginals(what, found, names)


def _told(what: Subject, one: OrderResult) -> str:
    return " › ".join(lit(what.columns[i], 24) for i in one.order)


def _marginals(what: Subject, found: list[OrderResult], names: list[str]) -> None:
    columns = {f"{_short(name)} {i + 1}":
               [short(one.marginals[i]) + plus_minus(one.marginals_se[i]) for one in found]
               for i, name in enumerate(what.columns)}  # fmt: skip
    st.dataframe({"order": names} | columns, hide_index=True,
                 alt="Mean absolute error of every column's own counts, by order")  # fmt: skip
    st.caption(
        "Mean absolute error of the counts of each column's categories alone (records), ± its 95 % interval over the "
        "runs; the number behind a name is the column's place in the present order. NOT PRIVATE. Simulation."
    )


def _short(name: str) -> str:
    return name if len(name) <= 30 else name[:29] + "…"


VIEWS: Final[dict[str, Callable[[Subject], None]]] = {"rules": rules, "orders": orders}
