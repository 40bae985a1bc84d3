// What cannot be read of a first screen besides its figures: see geometry.py.
() => {
  const faults = [], first = document.querySelector('.st-key-first_screen');
  const box = one => one.getBoundingClientRect();
  const meet = (a, b, by) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  const apart = '.js-plotly-plot, .st-key-stage svg, .ranges, .guess, [data-testid=stIconMaterial], style, script, .katex, .aloud, [data-testid=stTooltipHoverTarget] svg, .splitbar';
  const seen = one => one.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const texts = [], walk = document.createTreeWalker(first, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    const one = node.parentElement;
    if (!node.textContent.replace(/\u200b/g, '').trim() || one.closest(apart) || !seen(one)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) {  // of a line of text the letters
      const high = 0.22 * (r.bottom - r.top);
      if (r.width > 1 && r.height > 2) texts.push({of: one, text: node.textContent.trim().slice(0, 30), box: {left: r.left, right: r.right, top: r.top + high, bottom: r.bottom - high}});
    }
  }
  texts.forEach((one, at) => texts.slice(at + 1).forEach(other => {
    if (one.of !== other.of && meet(one.box, other.box, 1)) faults.push(`text on text: "${one.text}", "${other.text}"`);
  }));
  const CONTROLS = ['stSelectbox', 'stMultiSelect', 'stSlider', 'stSelectSlider', 'stNumberInput', 'stTextInput', 'stTextArea', 'stButtonGroup', 'stRadio', 'stCheckbox', 'stButton', 'stDownloadButton', 'stPopover', 'stPageLink'];
  const controls = [...first.querySelectorAll(CONTROLS.map(one => `[data-testid=${one}]`).join())].filter(one => seen(one) && box(one).width && !one.parentElement.closest(CONTROLS.map(one => `[data-testid=${one}]`).join()));
  const name = one => (one.querySelector('label, p')?.textContent || one.textContent).trim().slice(0, 30);
  controls.forEach((one, at) => controls.slice(at + 1).forEach(other => {
    if (meet(box(one), box(other), 3)) faults.push(`control on control: ${name(one)}, ${name(other)}`);
  }));
  const pen = document.createElement('canvas').getContext('2d');
  for (const one of first.querySelectorAll('input:is([type=text], [type=number], :not([type]))')) {
    const style = getComputedStyle(one), told = one.value || one.placeholder;
    if (!seen(one) || !told || !box(one).width) continue;
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (pen.measureText(told).width > room + 1) faults.push(`cut in its box: ${told}`);
  }
  for (const one of controls) if (box(one).right > innerWidth + 1 || box(one).left < -1) faults.push(`out of the window: ${name(one)}`);
  return [...new Set(faults)];
}
