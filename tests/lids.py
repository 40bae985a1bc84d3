"""What lies over controls: an element that is seen through and takes what was meant for the control under it."""

from __future__ import annotations

from typing import Any, Final

LOOK: Final = """step => {
  const KINDS = `a[href], button, input, textarea, select, summary, [role=slider], [role=combobox], [tabindex="0"],
    [data-testid=stTooltipHoverTarget], .legendtoggle, .border`;
  const box = one => one.getBoundingClientRect();
  const name = one => {
    const about = [one.closest('[data-testid]')?.dataset.testid, one.localName, one.getAttribute('class'),
      one.ariaLabel, one.textContent.trim().slice(0, 30)];
    return about.filter(word => word).join(' ');
  };
  const isSeen = one => box(one).width > 2 && box(one).height > 2
    && one.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const hides = one => {  // what is under it is not seen
    const { backgroundColor, opacity } = getComputedStyle(one);
    const [, , , alpha = 1] = backgroundColor.match(/[\\d.]+/g) ?? [0, 0, 0, 0];
    return alpha * opacity > 0.9;
  };
  const centre = one => [box(one).left + box(one).width / 2, box(one).top + box(one).height / 2];
  const all = [...document.querySelectorAll('*')];
  const scrollers = new Set(all.filter(one =>
    one.scrollHeight > one.clientHeight + 1 && ['auto', 'scroll'].includes(getComputedStyle(one).overflowY)));
  const controls = [...document.querySelectorAll(KINDS)].filter(isSeen).map(one => {
    const frames = [];
    for (let up = one.parentElement; up; up = up.parentElement) if (scrollers.has(up)) frames.push(up);
    return { one, frames };
  });
  const over = ({ one, frames }) => {  // what takes a press on it, and whether that hides it; null if out of sight
    const [x, y] = centre(one);
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return null;
    if (frames.map(box).some(frame => y < frame.top || y > frame.bottom)) return null;
    const top = document.elementFromPoint(x, y);
    if (!top) return null;
    const grid = one.closest('[data-testid=stDataFrameResizable]');  // its layers are one control
    const parts = [one, grid, ...one.labels ?? []];
    if (top.contains(one) || parts.some(part => part?.contains(top))) return { isFree: true };
    let isHidden = false;
    for (let lid = top; !lid.contains(one); lid = lid.parentElement) isHidden ||= hides(lid);
    return { top, isHidden };
  };
  const reached = new Set(), lids = new Set();
  const look = among => {
    for (const control of among) {
      const found = over(control);
      if (found?.isFree) reached.add(control);
      else if (found && !found.isHidden) lids.add(`${name(control.one)} under ${name(found.top)}`);
    }
  };
  look(controls);
  for (const one of scrollers) {
    const among = controls.filter(control => control.frames.includes(one)), was = one.scrollTop;
    for (let y = 0; among.length && y < one.scrollHeight - one.clientHeight + step; y += step) {
      one.scrollTop = y;
      look(among);
    }
    one.scrollTop = was;
  }
  for (const control of controls) {
    if (reached.has(control)) continue;
    control.one.scrollIntoView({ block: 'center', inline: 'center' });
    const found = over(control);
    if (found && !found.isFree) lids.add(`${name(control.one)} always under ${name(found.top)}`);
  }
  return { controls: controls.length, seen: reached.size, lids: [...lids] };
}"""


def lids(page: Any, *, step: int = 40) -> list[str]:
    """Return the controls of a page that are seen and that a press does not reach, each with what lies over it.

    The page is looked at as it stands and at every `step` pixels of what can be scrolled.
    """
    found = page.evaluate(LOOK, step)
    assert found["seen"] > 5, page.url
    return list(found["lids"])
