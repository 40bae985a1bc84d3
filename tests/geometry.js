// What cannot be read of figures: see geometry.py.
({ what, least }) => {
  const faults = [];
  const box = one => { const {left, right, top, bottom} = one.getBoundingClientRect(); return {left, right, top, bottom} };
  const wide = one => one.right - one.left, high = one => one.bottom - one.top;
  const meet = (a, b, by = 0) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  const within = (p, b) => p.x >= b.left - 1 && p.x <= b.right + 1 && p.y >= b.top - 1 && p.y <= b.bottom + 1;
  const words = one => one.textContent.replace(/[\u200b\s]+/g, ' ').trim();
  // Of a line of text the letters, not the room above and below them.
  const letters = one => {
    const r = box(one), m = one.getScreenCTM?.() ?? one.parentElement.getScreenCTM(), isUpright = Math.abs(m.b) > Math.abs(m.a);
    const [h, w] = isUpright ? [0, 0.16 * (r.right - r.left)] : [0.16 * (r.bottom - r.top), 0];
    return {left: r.left + w, right: r.right - w, top: r.top + h, bottom: r.bottom - h};
  };
  const luminance = rgb => {
    const [r, g, b] = rgb.map(one => (one /= 255) <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const page = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor.match(/[\d.]+/g).map(Number).slice(0, 3);
  const painted = (one, under) => {
    const style = getComputedStyle(one), [r, g, b, a = 1] = (style.fill.match(/[\d.]+/g) ?? []).map(Number);
    const opacity = a * style.fillOpacity * style.opacity;
    return [r, g, b].map((part, at) => opacity * part + (1 - opacity) * under[at]);
  };
  const alpha = one => { const style = getComputedStyle(one); return style.fill === 'none' ? 0 : Number(style.fill.match(/[\d.]+/g)?.[3] ?? 1) * style.fillOpacity * style.opacity };
  const contrast = (a, b) => { const [x, y] = [a, b].map(luminance).sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
  const scale = one => { const m = one.getScreenCTM(); return Math.sqrt(Math.abs(m.a * m.d - m.b * m.c)) };
  const size = one => parseFloat(getComputedStyle(one).fontSize) * scale(one);
  const seen = one => {
    const r = one.getBoundingClientRect(), style = getComputedStyle(one);
    if (!r.width && !r.height || style.visibility === 'hidden' || style.display === 'none') return false;
    for (let up = one; up && up.tagName !== 'BODY'; up = up.parentElement)
      if (parseFloat(getComputedStyle(up).opacity) < 0.05 && !up.matches('.modebar-container, .modebar')) return false;
    return true;
  };

  for (const plot of document.querySelectorAll(what)) {
    const frame = box(plot.querySelector('.main-svg'));
    const KINDS = { '.annotation': 'note', '[class*=tick]': 'tick', '[class*=title]': 'title', '.legend': 'name', '.colorbar': 'tick',
      '.point': 'bar', '.textpoint': 'point', '.slice': 'block' };
    const labels = [...plot.querySelectorAll('.main-svg text')].filter(one => words(one) && !one.closest('.hoverlayer') && seen(one)).map(one => {
      const lines = [...one.querySelectorAll(':scope > tspan.line')], own = one.closest('g.point, g.slice'), mine = one.closest('.textpoint');
      return {
        one, kind: Object.entries(KINDS).find(([which]) => one.closest(which))?.[1] ?? 'text', text: words(one).slice(0, 40),
        boxes: (lines.length ? lines : [one]).filter(words).map(letters), own: own?.querySelector('path'), size: size(one),
        of: one.closest('.trace'), at: mine && [...mine.parentElement.children].indexOf(mine),
      };
    });
    for (const one of labels) {  // what a text stands on: its bar or block, its marker, its own box
      const chip = one.one.closest('.annotation')?.querySelector('rect.bg');
      if (chip && alpha(chip) > 0.5) one.own = chip;
      const marker = one.at !== null && one.of.querySelectorAll('.points > path')[one.at];
      if (marker && alpha(marker) > 0.5 && one.boxes.some(a => meet(a, box(marker), 3))) one.own = marker;
    }
    // ---- sizes, edges
    for (const one of labels) {
      if (one.size < least - 0.05) faults.push(`small: ${one.size.toFixed(1)} px ${one.kind} "${one.text}"`);
      for (const b of one.boxes)
        if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1) {
          faults.push(`cut: ${one.kind} "${one.text}"`); break;
        }
    }
    // ---- label on label
    labels.forEach((one, at) => labels.slice(at + 1).forEach(other => {
      if (one.boxes.some(a => other.boxes.some(b => meet(a, b, 1)))) faults.push(`label on label: ${one.kind} "${one.text}", ${other.kind} "${other.text}"`);
    }));
    // ---- label on mark
    const areas = [...plot.querySelectorAll('.bglayer .bg, .plot > rect, .cartesianlayer .bg')].map(box);
    const inPlot = p => !areas.length || areas.some(a => within(p, a));
    const chips = labels.filter(one => one.own?.matches('rect.bg')).map(one => one.own);
    const blocks = [...plot.querySelectorAll('.barlayer .point path, g.slice path.surface'), ...chips].filter(seen);
    const points = [...plot.querySelectorAll('.scatterlayer .points path')].filter(seen);
    const boxesOfBlocks = blocks.map(box), boxesOfPoints = points.map(box);
    for (const one of labels) {
      const whole = one.boxes.reduce((a, b) => ({left: Math.min(a.left, b.left), right: Math.max(a.right, b.right), top: Math.min(a.top, b.top), bottom: Math.max(a.bottom, b.bottom)}));
      const near = b => meet(whole, b, 1);
      const hit = (boxes, marks) => boxes.some((b, at) => {
        if (marks[at] === one.own || wide(b) * high(b) < 1 || !near(b) || !one.boxes.some(a => meet(a, b, 1))) return false;
        return true;
      });
      if (hit(boxesOfBlocks, blocks)) faults.push(`label on block: ${one.kind} "${one.text}"`);
      if (hit(boxesOfPoints, points)) faults.push(`label on point: ${one.kind} "${one.text}"`);
      if (one.own) {
        const b = box(one.own);
        if (one.boxes.every(a => within({x: a.left, y: a.top}, b) && within({x: a.right, y: a.bottom}, b))) {
          const under = painted(one.own, page), c = contrast(painted(one.one, under), under);
          if (c < 4.5) faults.push(`faint: ${c.toFixed(1)} ${one.kind} "${one.text}"`);
        } else if (one.kind === 'block') faults.push(`out of its block: "${one.text}"`);
      } else {
        const c = contrast(painted(one.one, page), page);
        if (c < (one.size < 24 ? 4.5 : 3)) faults.push(`faint: ${c.toFixed(1)} ${one.kind} "${one.text}"`);
      }
    }
    const lines = [...plot.querySelectorAll('.scatterlayer .js-line, .errorbar path, .shapelayer path')].filter(one => {
      const style = getComputedStyle(one);
      if (parseFloat(style.strokeWidth) === 0 || style.stroke === 'none' || parseFloat(style.strokeOpacity) === 0) return false;
      if (!seen(one)) return false;
      return true;
    });
    for (const line of lines) {
      const whole = box(line), pad = 1;
      const near = labels.filter(one => one.boxes.some(b => b.right > whole.left - 1 && b.left < whole.right + 1 && b.bottom > whole.top - 1 && b.top < whole.bottom + 1));
      if (!near.length) continue;
      const m = line.getScreenCTM(), length = line.getTotalLength(), n = Math.min(4000, Math.ceil(length / 2));
      const hits = new Set();
      const inArea = line.closest('.shapelayer') ? () => true : inPlot;
      for (let at = 0; at <= n; at += 1) {
        const p = line.getPointAtLength(length * at / Math.max(n, 1));
        const q = { x: m.a * p.x + m.c * p.y + m.e, y: m.b * p.x + m.d * p.y + m.f };
        if (!inArea(q)) continue;
        for (const one of near)
          if (!hits.has(one) && !(one.own && within(q, box(one.own))) && one.boxes.some(b => q.x > b.left + pad && q.x < b.right - pad && q.y > b.top + pad && q.y < b.bottom - pad)) hits.add(one);
      }
      const kind = line.closest('.shapelayer') ? 'rule' : line.closest('.errorbar') ? 'bar of error' : 'line';
      for (const one of hits) faults.push(`label on ${kind}: ${one.kind} "${one.text}"`);
    }
    // ---- plotly's bar
    const tools = [...plot.querySelectorAll('.modebar-btn')].map(box).filter(one => wide(one) && high(one));
    const beside = [...document.querySelectorAll('.st-key-answer p')].flatMap(one => { const range = document.createRange(); range.selectNodeContents(one); return [...range.getClientRects()] });
    for (const b of tools) {
      for (const one of labels) if (one.boxes.some(a => meet(a, b, 1))) faults.push(`toolbar on ${one.kind} "${one.text}"`);
      if ([...boxesOfBlocks, ...boxesOfPoints].some(a => meet(a, b, 1))) faults.push('toolbar on a mark');
      if (beside.some(a => meet(a, b, 1))) faults.push('toolbar on the answer');
    }
    // ---- blocks that are wide enough for their text, and too low
    for (const one of plot.querySelectorAll('g.slice, .barlayer .point')) {
      const text = one.querySelector('text'), block = one.querySelector('path');
      if (!text || !block || !words(text) || seen(text)) continue;
      const style = getComputedStyle(text), pen = document.createElement('canvas').getContext('2d');
      pen.font = `${style.fontSize} ${style.fontFamily}`;  // what is hidden has no length
      if (0.9 * pen.measureText(words(text)).width <= wide(box(block)) - 16) faults.push(`no room in its block: "${words(text).slice(0, 40)}"`);
    }
    // ---- rows and columns whose name is left out
    for (const [name, axis] of Object.entries(plot._fullLayout)) {
      if (!/^[xy]axis/.test(name) || axis.type !== 'category' || !axis.visible || !axis.showticklabels) continue;
      const named = new Set([...plot.querySelectorAll(`.${axis._id}tick text`)].filter(seen).map(words));
      const plain = one => Object.assign(document.createElement('p'), {innerHTML: one}).textContent.replace(/\s+/g, ' ').trim();
      for (const one of axis._categories.map(plain)) if (!named.has(one)) faults.push(`no name: ${one}`);
    }
    // ---- bars that the axis cuts, with no sign of it
    for (const trace of plot._fullData.filter(one => one.type === 'bar' && one.visible === true)) {
      const flat = trace.orientation === 'h', axis = plot._fullLayout[(flat ? trace.xaxis : trace.yaxis).replace(/^([xy])/, '$1axis')];
      const values = trace[flat ? 'x' : 'y'], [low, high] = [...axis.range].sort((p, q) => p - q);
      const base = trace.base;
      [...values].forEach((value, at) => {
        const start = base == null ? 0 : typeof base === 'object' ? base[at] : base;
        const end = axis.type === 'log' ? Math.log10(value) : +value + (+start || 0);
        if (!(end > high + 1e-9 * Math.abs(high) || axis.type !== 'log' && end < low - 1e-9 * Math.abs(low))) return;
        faults.push(`cut bar: ${value} in ${trace.name || ''}`);
      });
      if (axis.type !== 'linear' || axis.ticktext) continue;
      const ends = [...values].map((value, at) => +value + (base == null ? 0 : typeof base === 'object' ? +base[at] : +base)), told = ends.map((_, at) => String(Array.isArray(trace.text) ? trace.text[at] : trace.text ?? ''));
      ends.forEach((end, at) => {
        const number = Number(told[at].replace(/[\s\u202f\u00a0]/g, '').replace('\u2212', '-').match(/^-?[\d.]+(?=$|\u2192)/)?.[0]);
        if (Number.isFinite(number) && Math.abs(number - end) > 0.05 * Math.abs(number) && !told[at].includes('\u2192'))
          faults.push(`cut bar: ${told[at]} drawn as ${end}`);
      });
    }
  }
  return faults;
}
