// One range, three ways: a range is dragged over bins, and the noisy counts that answer it light up in three rows.
// All numbers come from the server once; moving the range asks it nothing.

const SVG = 'http://www.w3.org/2000/svg';

export default function ({ data, parentElement }) {
  const bins = data.truth.length;
  const box = parentElement.querySelector('.ranges') ?? parentElement.appendChild(element('div', 'ranges'));
  const held = (box.dataset.range ?? '').split(',').map(Number);
  let [start, stop] = box.dataset.bins == bins && held.length === 2 ? held : [Math.round(bins * 0.15), Math.round(bins * 0.7)];
  box.dataset.bins = bins;
  box.role = 'group';
  box.ariaLabel = data.label;

  const strip = element('div', 'strip bins');
  const band = element('div', 'band');
  const knobs = ['First bin', 'Bin after the last'].map((name, k) => knob(name, k));
  const top = Math.max(...data.truth);
  const bars = drawing(top);
  bars.append(path('bar', data.truth.map((n, i) => rectangle(i, top - n, 1, n)).join('')));
  strip.append(bars, band, ...knobs);
  const said = element('div', 'told');
  const rows = data.ways.map(way);
  const live = element('div', 'aloud');
  live.role = 'status';
  box.replaceChildren(row('Range', strip, said), ...rows.map(one => one.row), live);
  draw();

  function draw() {
    box.dataset.range = [start, stop];
    band.style.left = `${(100 * start) / bins}%`;
    band.style.width = `${(100 * (stop - start)) / bins}%`;
    [start, stop].forEach((at, k) => {
      knobs[k].style.left = `${(100 * at) / bins}%`;
      Object.assign(knobs[k], { ariaValueNow: at, ariaValueMin: k ? start + 1 : 0, ariaValueMax: k ? bins : stop - 1 });
    });
    const truth = data.truth.slice(start, stop).reduce((sum, n) => sum + n, 0);
    said.replaceChildren(element('b', '', `${number(truth)} records`), ` in ${stop - start} ${stop - start === 1 ? 'bin' : 'bins'}`);
    const told = rows.map(one => one.answer(truth));
    clearTimeout(live.later);
    live.later = setTimeout(() => (live.textContent = told.join('; ')), 500); // once the range has come to rest
  }

  // A row of noisy counts: those of the range's end that are not its start's are added, the others taken away.
  function way(one) {
    const levels = one.name === 'prefixes' ? 2 : Math.max(...one.row) + 1;
    const place = (node, row) => rectangle(one.spans[node][0] + 0.04, row + 0.08, one.spans[node][1] - one.spans[node][0] - 0.08, 0.84);
    const all = drawing(levels);
    const cells = one.name === 'prefixes' ? rectangle(0, 0.08, bins, 0.84) + rectangle(0, 1.08, bins, 0.84) : one.row.map((row, node) => place(node, row)).join('');
    const [added, taken] = [path('added'), path('taken')];
    all.append(path('cell', cells), added, taken);
    const lane = element('div', 'strip');
    lane.append(all);
    const told = element('div', 'told');
    const [words, whisker] = [element('span', ''), element('span', 'whisker')];
    const [reach, dot] = [element('i', 'reach'), element('i', 'dot')];
    whisker.append(reach, dot);
    told.append(words, whisker);
    return {
      row: row(one.label, lane, told),
      answer(truth) {
        const [before, upTo] = [start, stop].map(at => one.covers[at].flatMap(([a, b]) => Array.from({ length: b - a }, (_, i) => a + i)));
        const [first, last] = [new Set(before), new Set(upTo)];
        const [plus, minus] = [upTo.filter(v => !first.has(v)), before.filter(v => !last.has(v))];
        added.setAttribute('d', plus.map(v => place(v, levels === 2 && one.name === 'prefixes' ? 0 : one.row[v])).join(''));
        taken.setAttribute('d', minus.map(v => place(v, levels === 2 && one.name === 'prefixes' ? 1 : one.row[v])).join(''));
        const sum = (nodes, of) => nodes.reduce((total, v) => total + of[v], 0);
        const deviation = Math.sqrt(sum(plus, one.variance) + sum(minus, one.variance));
        const shown = sum(plus, one.released) - sum(minus, one.released);
        const counts = plus.length + minus.length;
        words.replaceChildren(element('b', '', `σ = ${number(deviation)}`), ` ${counts} ${counts === 1 ? 'count' : 'counts'}, shows ${number(shown)}`);
        const scale = part => 50 + 50 * Math.min(Math.max(part / data.reach, -1), 1);
        reach.style.left = `${scale(-2 * deviation)}%`;
        reach.style.right = `${100 - scale(2 * deviation)}%`;
        reach.classList.toggle('beyond', 2 * deviation > data.reach);
        dot.style.left = `${scale(shown - truth)}%`;
        lane.ariaLabel = `${one.label}: ${words.textContent}`;
        lane.role = 'img';
        return lane.ariaLabel;
      },
    };
  }

  function move(k, to) {
    if (k === 0) start = Math.min(Math.max(Math.round(to), 0), stop - 1);
    else stop = Math.max(Math.min(Math.round(to), bins), start + 1);
    draw();
  }

  function knob(name, k) {
    const one = element('div', 'knob');
    Object.assign(one, { role: 'slider', tabIndex: 0, ariaLabel: name });
    one.addEventListener('keydown', event => {
      const at = k ? stop : start;
      const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - bins / 8, PageUp: at + bins / 8, Home: 0, End: bins }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      move(k, to);
    });
    return one;
  }

  // A knob follows the pointer; so does the whole range from its middle; elsewhere a new range begins.
  strip.addEventListener('pointerdown', event => {
    event.preventDefault();
    strip.setPointerCapture(event.pointerId);
    const at = from => ((from.clientX - strip.getBoundingClientRect().left) / strip.clientWidth) * bins;
    const [began, first, last] = [at(event), start, stop];
    const near = 14 / (strip.clientWidth / bins);
    let k = Math.abs(began - first) < Math.min(near, (last - first) / 3) ? 0 : Math.abs(began - last) < Math.min(near, (last - first) / 3) ? 1 : -1;
    const whole = k < 0 && began > first && began < last;
    if (k < 0 && !whole) {
      start = Math.min(Math.max(Math.floor(began), 0), bins - 1);
      stop = start + 1;
      k = 1;
      draw();
    }
    if (k >= 0) knobs[k].focus();
    const follow = now => {
      if (!whole) return move(k, at(now));
      const by = Math.round(Math.min(Math.max(at(now) - began, -first), bins - last));
      [start, stop] = [first + by, last + by];
      draw();
    };
    strip.addEventListener('pointermove', follow);
    strip.addEventListener('lostpointercapture', () => strip.removeEventListener('pointermove', follow), { once: true });
  });

  function row(name, lane, told) {
    const one = element('div', 'row');
    one.append(element('div', 'name', name), lane, told);
    return one;
  }

  function drawing(height) {
    const one = document.createElementNS(SVG, 'svg');
    one.setAttribute('viewBox', `0 0 ${bins} ${height}`);
    one.setAttribute('preserveAspectRatio', 'none');
    one.setAttribute('aria-hidden', 'true');
    return one;
  }

  function path(kind, d = '') {
    const one = document.createElementNS(SVG, 'path');
    one.setAttribute('class', kind);
    one.setAttribute('d', d);
    return one;
  }
}

function rectangle(x, y, width, height) {
  return `M${x} ${y}h${width}v${height}h${-width}z`;
}

function element(tag, kind, text = '') {
  const one = document.createElement(tag);
  one.className = kind;
  one.textContent = text;
  return one;
}

function number(x) {
  const digits = Math.abs(x) >= 100 ? 0 : 1;
  const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return x.toLocaleString('en', places).replaceAll(',', '\u202f').replace('-', '−');
}
