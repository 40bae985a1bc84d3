"""The Consistency page's pictures: a family on a balance above the tree, before or after, and all of it as strips."""

from __future__ import annotations

import streamlit as st

from pages.ui import frame
from pages.ui.store import dataset, used
from pages.ui.walk import HOW, enter, follow, place
from pages.views.consistency import words
from pages.views.consistency.settings import NODE, SHOWN
from treedp_core.errors.compare import most_visible
from treedp_core.figures.consistency import MAX_BLOCKS, balance_and_tree
from treedp_core.figures.strips import error_strips, strip_table
from treedp_core.notebook.code import Ran, call, given
from treedp_core.studies.sweep.before_after import Draw, draw, family_table
from treedp_core.words import short


def picture(the: Draw, label: str, answer: str) -> None:
    """Show one family and the tree below it; `label` is what every copy must say of the split."""
    enter(NODE.key, dataset().fingerprint)
    labels, root, after = dataset().labels, place(the.tree, NODE.key), SHOWN.value == "after"
    family = root or most_visible(the.tree, the.before)
    told = words.weighed(the.tree, family, the.after if after else the.before)
    source = used()
    mark = frame.figure(
        call(
            balance_and_tree, drawn_again(the), source.get("labels"), family, after=after, root=root, equation=told
        ),
        key="con_figure",
        alt=f"{labels.label(family)}: {told}. Below, signed errors of the counts as an icicle.",
        answer=answer,
        caption=f"NOT PRIVATE: one simulated draw, {SHOWN.label_of(SHOWN.value).lower()} post-processing (seed "
        f"{the.experiment.seed}). Top: a family whose sum fails visibly, or that of the node you chose; hatched: what "
        f"the children have too many or too few of. Tree: area is the true count, colour the signed error, orange too "
        f"low, blue too high, clipped {short(the.clip)} records to either side (4 noise scales).",
        how=HOW,
        ran=call(family_table, drawn_again(the), family, source.get("labels")),
        select=True,
        label=label,
        simulated=True,
    )  # fmt: skip
    follow(mark, the.tree, key=NODE.key)


def drawn_again(the: Draw) -> Ran[Draw]:
    """Return the call that gives a draw again."""
    return given(the, draw, the.experiment, used().get("tree"), used().get("counts")).named("drawn")


def strips(the: Draw, label: str) -> None:
    """Offer all of a tree too large for one picture."""
    data, clip = dataset(), the.clip
    if data.tree.n_nodes <= MAX_BLOCKS:
        return
    with st.expander("The whole tree at a glance", key="con_strips", on_change="rerun") as opened:
        if not opened.open:
            return
        for title in ("before", "after"):
            names = used().get("labels.level_names")
            fig = call(error_strips, drawn_again(the), names, after=title == "after").named("strips")
            frame.figure(
                fig,
                key=f"con_strips_{title}",
                alt=f"Largest signed errors {title}, level by level, leaves from left to right.",
                caption=f"NOT PRIVATE: signed errors of this draw {title}; each column shows the error furthest from 0 "
                f"among its nodes, clipped {short(clip)} records to either side.",
                ran=call(strip_table, fig),
                simulated=True,
                label=label,
            )
