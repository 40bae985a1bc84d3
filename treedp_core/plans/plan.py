"""The release plan: what would be released, to whom it is a promise, what it costs, and what is still open."""

from __future__ import annotations

import html
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from treedp_core.checks import InputError, echo
from treedp_core.mechanisms.thresholds.public_bound import ThresholdPlan
from treedp_core.plans import verify, words
from treedp_core.plans.planned_noise import Made, planned, state, state_of_sums, true_error
from treedp_core.plans.public_domain import Data
from treedp_core.plans.statement import Statement
from treedp_core.plans.thresholds.planned import state_of_rounds
from treedp_core.plans.verify import does_not_hold, problems
from treedp_core.privacy.prior_provenance import Origin
from treedp_core.records import Dataset, strict_json
from treedp_core.studies.cdf.matrices.plan import MatrixPlan
from treedp_core.words import card, fence, short

# ---- a plan as a document: Markdown and HTML. What somebody typed is shown as text, never as markup


TITLE: Final = "Release plan"
STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0;font-size:.9rem;display:block;overflow-x:auto}"
    "th,td{border:1px solid;padding:.25rem .6rem;"
    "text-align:left;vertical-align:top}td:first-child,th+td{overflow-wrap:anywhere;min-width:6em}h2{break-after:avoid}"
    "blockquote{margin:1rem 0;padding:.2rem 1rem;border-left:4px solid}"
    "li{list-style:'☐  '}"
    "@media print{table{display:table}body{max-width:none;margin:0}tr,li,blockquote{break-inside:avoid}}"
)


CHECKED: Final = "Checked: the cost of every level, their total and the promise were worked out again from the scales."
CHECKED_ROUNDS: Final = "Checked: what all rounds lose was composed again from their noise, and keeps the promise."


def markdown(plan: Statement) -> str:
    """Return the plan as Markdown; user text stands in code, where nothing is markup."""
    table = words.level_table(plan)
    rows = [list(table), ["---"] * len(table), *map(list, zip(*table.values(), strict=True))]
    body = [f"| {' | '.join(cells)} |" for cells in ([*rows[:2], *([_code(row[0]), *row[1:]] for row in rows[2:])])]
    ticks, wrong = fence(words.sentence(plan), 3), does_not_hold(problems(plan))
    marked = [line for told in (words.label(plan), wrong) if told for line in (told, "")]
    return "\n".join([
        f"# {TITLE}", "", *marked, "## Accounting statement", "",
        f"{ticks}text", words.sentence(plan), ticks, "",
        "## Open points", "", *(f"- [ ] {point}" for point in words.open_points(plan)), "",
        "## What is released", "", "| | |", "| --- | --- |",
        *(f"| {name} | {_code(text) if name in words.TYPED else text} |" for name, text in words.summary(plan)), "",
        f"## {words.heading(plan)}", "", *body, "", _told(plan), "", wrong or _checked(plan), "",
    ])  # fmt: skip


def page(plan: Statement) -> str:
    """Return the plan as one HTML page that needs nothing else, and prints."""
    table = words.level_table(plan)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(*table.values(), strict=True)
    )
    about = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in words.summary(plan)
    )
    points = "".join(f"<li>{html.escape(point)}</li>" for point in words.open_points(plan))
    wrong = does_not_hold(problems(plan))
    marked = "".join(f"<p><strong>{html.escape(line)}</strong></p>" for line in (words.label(plan), wrong) if line)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{STYLE}</style></head><body><h1>{TITLE}</h1>{marked}<h2>Accounting statement</h2>"
        f"<blockquote>{html.escape(words.sentence(plan))}</blockquote><h2>Open points</h2><ul>{points}</ul>"
        f"<h2>What is released</h2><table>{about}</table><h2>{words.heading(plan)}</h2>"
        f"<table><tr>{head}</tr>{rows}</table>"
        f"<p>{html.escape(_told(plan))}</p><p>{html.escape(wrong or _checked(plan))}</p></body></html>\n"
    )


def _told(plan: Statement) -> str:
    if plan.thresholds is not None:
        return (
            "Costs and the error are rounded up; the plan's JSON has the exact numbers of every round. Nothing here "
            "depends on a record."
        )
    return (
        "Costs, sensitivities, scales and margins are rounded up. Errors are those of the noise; they depend on no "
        "record. A dash: not measured, or not known before the counts are."
    )


def _checked(plan: Statement) -> str:
    return CHECKED if plan.thresholds is None else CHECKED_ROUNDS


def _code(text: str) -> str:
    """A text as code in a cell of a table."""
    one_line = " ".join(text.split()).replace("|", "\\|") or " "
    ticks = fence(one_line)
    pad = " " if "`" in (one_line[0], one_line[-1]) else ""
    return f"{ticks}{pad}{one_line}{pad}{ticks}"


@dataclass(frozen=True)
class ReleasePlan(Statement):
    r"""A release as a document: its numbers depend on no record, unless errors on the true counts were asked for.

    The fields are those of `Statement`. Make one by `of`, or read one by `from_json`.

    >>> import io
    >>> from treedp_core.experiment import Experiment
    >>> from treedp_core.records import count_hierarchy, domain_of_values
    >>> domain = domain_of_values({"sex": ["F", "M"]})
    >>> data = count_hierarchy(io.BytesIO(b"sex\nF\nM\nM\n"), ["sex"], domain=domain, name="people")
    >>> plan = ReleasePlan.of(Experiment(epsilon=0.5), data, whom="person")
    >>> plan.levels[1].scale, plan.verify(), ReleasePlan.from_json(plan.to_json()) == plan
    (4.0, (), True)
    """

    @classmethod
    def of(
        cls,
        made: Made,
        data: Data,
        *,
        counted: Dataset | None = None,
        tuned: Origin | None = None,
        whom: str = "",
        steps: tuple[str, ...] = (),
        reads_counts: bool = False,
    ) -> ReleasePlan:
        """Return the plan of a release.

        Parameters
        ----------
        made : Experiment, Split, CdfPlan, MatrixPlan, ThresholdPlan or treedp_core.studies.topdown.Plan
            What spends the budget.
        data : Dataset, or Bins of a CDF, or Subject of a top-down release
            Whose names and categories are stated; never its counts.
        counted : Dataset, optional
            The data set that bins or columns come from.
        tuned : Origin, optional
            What the budget or its split was tuned on; a `Split` knows it from its ledger.
        whom : str
            What one unit is, in a word or two.
        steps : tuple of str
            Post-processing of a top-down release; the others know theirs.
        reads_counts : bool
            Whether errors in the experiment's metric, which may read the true counts, are stated: NOT PRIVATE.

        Raises
        ------
        InputError
            ``PLAN_LAW`` for a mechanism whose promise is not TreeDP's; ``PLAN_DATA`` where the data do not fit;
            ``PLAN_PARTITION`` for a private partition, whose buckets nobody knows before they are released;
            ``PLAN_ESTIMATE`` for views from the left and the right;
            ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` of the ledger; what making the release ready refuses.
        """
        source = data if isinstance(data, Dataset) else counted
        if isinstance(made, ThresholdPlan):
            if tuned is not None and tuned.spent:
                raise InputError(
                    "PRIOR_OTHER", "Thresholds have no split that a prior could be paid for; leave it out."
                )
            found = replace(state_of_rounds(made, data), tuned=tuned)
        elif isinstance(made, MatrixPlan):
            found = replace(state_of_sums(made, data, source), tuned=tuned)
        else:
            found = state(planned(made, data, tuned, steps), data, source)
        stated = {one.name: getattr(found, one.name) for one in fields(found)}
        return cls(**stated | {"whom": whom, "true_error": true_error(made, data) if reads_counts else None})

    @classmethod
    def from_json(cls, data: bytes | str) -> ReleasePlan:
        """Return the plan that `to_json` wrote.

        Raises
        ------
        InputError
            ``CONFIG_NOT_JSON`` and the like: one sentence each.
        """
        return strict_json.read(cls, data)

    def to_json(self) -> str:
        """Return the plan as JSON, which `from_json` reads back to an equal one; NOT PRIVATE first where that holds."""
        return strict_json.write(self, notice=self.label)

    def to_markdown(self) -> str:
        """Return the plan as Markdown."""
        return markdown(self)

    def to_html(self) -> str:
        """Return the plan as one HTML page."""
        return page(self)

    def sentence(self) -> str:
        """Return the accounting statement, ready for a methods section; first what speaks against it, if anything."""
        return " ".join(filter(None, (words.label(self), verify.does_not_hold(self.verify()), words.sentence(self))))

    def verify(self) -> tuple[str, ...]:
        """Return what does not hold, a sentence each, by working the total out again from the levels' scales."""
        return self._problems

    @cached_property
    def _problems(self) -> tuple[str, ...]:
        return verify.problems(self)

    def running_costs(self) -> list[float]:
        """Return what the levels cost added up one by one, of what costs a unit most; last what tuning cost, if any."""
        return verify.running_costs(self)

    @property
    def open_points(self) -> tuple[str, ...]:
        """What somebody must still see to before anything is published."""
        return words.open_points(self)

    @property
    def label(self) -> str:
        """What every copy must begin with where the plan tells of true counts; else nothing."""
        return words.label(self)

    def __repr__(self) -> str:
        return f"<ReleasePlan of {len(self.levels)} levels: {words.promise(self)}>"

    def _repr_html_(self) -> str:
        levels = ((one.name, "exact" if one.scale is None else f"scale {short(one.scale)}") for one in self.levels)
        return card(self.sentence(), levels)


def open_plan(path: str | Path) -> ReleasePlan:
    """Return the plan in a JSON file.

    Raises
    ------
    InputError
        ``FILE_MISSING``; as `ReleasePlan.from_json`, which reads text that is at hand.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(strict_json.MAX_BYTES + 1)
    except (OSError, ValueError, TypeError):
        raise InputError(
            "FILE_MISSING",
            f"There is no plan {echo(path)} that can be read; give the path of one that Release plan saved as JSON.",
        ) from None
    return ReleasePlan.from_json(content)
