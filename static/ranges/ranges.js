// One range, three ways: a range is dragged over bins, and the noisy counts that answer it light up in three rows.
// All numbers come from the server once; moving the range asks it nothing.

const SVG = 'http://www.w3.org/2000/svg';
const SHADES = [0.15, 0.4, 0.7, 1];

export default function ({ data, parentElement }) {
  const box = show({ data, parentElement });
  box.put = other => show({ data: other ?? data, parentElement });
}

function show({ data, parentElement }) {
  const bins = data.truth.length;
  const box = parentElement.querySelector('.ranges') ?? parentElement.appendChild(element('div', 'ranges'));
  const opened = `${bins}: ${data.range}`;
  let [start, stop] = box.dataset.opened === opened ? box.dataset.range.split(',').map(Number) : data.range;
  box.dataset.opened = opened;
  box.role = 'group';
  box.ariaLabel = data.label;

  const strip = element('div', 'strip bins');
  const band = element('div', 'band');
  const knobs = ['First bin', 'Bin after the last'].map((name, k) => knob(name, k));
  const top = Math.max(...data.truth);
  const bars = drawing(top);
  bars.append(path('bar', `M0 ${top}${data.truth.map(n => `V${top - n}h1`).join('')}V${top}z`));
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
    said.replaceChildren(element('b', '', `${number(truth)} records`), ` in ${whole(stop - start)} ${stop - start === 1 ? 'bin' : 'bins'}`);
    const told = rows.map(one => one.answer(truth));
    clearTimeout(live.later);
    live.later = setTimeout(() => (live.textContent = told.join('; ')), 500); // once the range has come to rest
  }

  // A row of noisy counts, and what each is multiplied by for the range: blue what is added, orange what is taken away,
  // the paler the less it is worth.
  function way(one) {
    const isTree = one.factors.length > 0;
    const levels = [{ first: 0, n: 1, width: bins }];
    for (const n of one.factors) {
      const { first, n: above, width } = levels.at(-1);
      levels.push({ first: first + above, n: above * n, width: width / n });
    }
    const all = drawing(isTree ? levels.length : 2);
    const rows = isTree ? levels.map((level, l) => cells(l, level.n, level.width, () => 0)) : [0, 1].map(y => cells(y, 1, bins, () => 0));
    const lit = ['added', 'taken'].flatMap(kind => SHADES.map(shade => path(kind)));
    lit.forEach((made, k) => made.setAttribute('fill-opacity', SHADES[k % SHADES.length]));
    all.append(path('cell', rows.map(([d]) => d).join('')), ...lit);
    const lane = element('div', 'strip');
    lane.append(all);
    const told = element('div', 'told');
    const [words, whisker] = [element('span', ''), element('span', 'whisker')];
    const [reach, dot] = [element('i', 'reach'), element('i', 'dot')];
    whisker.append(reach, dot);
    told.append(words, whisker);
    const known = isTree ? 0 : bins - 1; // the total
    return {
      row: row(one.label, lane, told),
      answer(truth) {
        const weights = new Float64Array(one.released.length);
        if (!isTree) ends(weights);
        else (one.weighed ? weighed : fewest)(levels, weights);
        let [counts, squares, shown] = [0, 0, 0];
        weights.forEach((w, v) => {
          shown += w * one.released[v];
          if (v === known || Math.abs(w) < 1e-12) return;
          counts += 1;
          squares += w * w;
        });
        const drawn = isTree ? levels.map((level, l) => cells(l, level.n, level.width, i => shaded(weights[level.first + i]))) : [
          cells(0, 1, stop, () => shaded(1)), ...(start ? [cells(1, 1, start, () => shaded(-1))] : [])];
        lit.forEach((made, k) => made.setAttribute('d', drawn.map(of => of[k] ?? '').join('')));
        const deviation = Math.sqrt(one.variance * squares);
        words.replaceChildren(element('b', '', `σ = ${number(deviation)}`), ` ${whole(counts)} ${counts === 1 ? 'count' : 'counts'}, shows ${number(shown)}`);
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

  // The last of all cumulative counts is added, that before the first bin taken away.
  function ends(weights) {
    weights[stop - 1] = 1;
    if (start) weights[start - 1] = -1;
  }

  // The fewest noisy counts that make the range; the root's is known and free (see treedp_core.tree.fewest).
  function fewest(levels, weights) {
    if (stop - start === bins) return void (weights[0] = 1);
    // the children of a node: those that the range holds are from `from` to before `to`, and it cuts at most two
    const children = (l, i) => {
      const [n, width] = [levels[l + 1].n / levels[l].n, levels[l + 1].width];
      const within = x => Math.min(Math.max(x / width, i * n), (i + 1) * n);
      const [from, to] = [within(start), within(stop)];
      const cut = [from, to].filter(x => x % 1).map(Math.floor);
      return { n, first: i * n, from: Math.ceil(from), to: Math.max(Math.floor(to), Math.ceil(from)), cut: cut[0] === cut[1] ? cut.slice(0, 1) : cut };
    };
    const cost = (l, i, above) => {
      const { n, from, to, cut } = children(l, i);
      const wrong = above ? n - (to - from) - cut.length : to - from;
      return cut.reduce((sum, c) => sum + Math.min(cost(l + 1, c, above), 1 + cost(l + 1, c, 1 - above)), wrong);
    };
    const light = (l, i, above) => {
      const { n, first, from, to, cut } = children(l, i);
      for (let c = first; c < first + n; c++) {
        if (!cut.includes(c)) weights[levels[l + 1].first + c] = Number(c >= from && c < to) - above;
        else choose(l + 1, c, above, 1);
      }
    };
    const choose = (l, i, above, price) => {
      const turns = cost(l, i, above) > price + cost(l, i, 1 - above);
      if (turns) weights[levels[l].first + i] = 1 - 2 * above;
      light(l, i, turns ? 1 - above : above);
    };
    choose(0, 0, 0, 0);
  }

  // What least squares multiplies each count by (see treedp_core.studies.ranges).
  function weighed(levels, weights) {
    const part = (l, i) => Math.max(0, Math.min((i + 1) * levels[l].width, stop) - Math.max(i * levels[l].width, start)) / levels[l].width;
    weights[0] = part(0, 0);
    let above = [0];
    for (let l = 1; l < levels.length; l++) {
      const n = levels[l].n / levels[l - 1].n;
      const seen = levels.slice(l).reduce((sum, level) => sum + level.width, 0);
      const here = [];
      for (let i = 0; i < levels[l].n; i++) {
        const parent = Math.floor(i / n);
        here.push(above[parent] + (part(l, i) - part(l - 1, parent)) / seen);
        weights[levels[l].first + i] = here[i] * levels[l].width;
      }
      above = here;
    }
  }

  // Which path a count is drawn on by its weight: those that are added first, from pale to full; none for next to nothing.
  function shaded(w) {
    if (Math.abs(w) < 1e-3) return -1;
    const shade = SHADES.findIndex(most => Math.abs(w) <= most + 1e-9);
    return w > 0 ? shade : SHADES.length + shade;
  }

  // The cells of a row on each path; neighbours that are too narrow to be told apart are one.
  function cells(y, n, width, path) {
    const [gap, made] = [width < bins / 512 ? 0 : 0.04, []];
    for (let i = 0, to; i < n; i = to) {
      const k = path(i);
      to = i + 1;
      while (gap === 0 && to < n && path(to) === k) to += 1;
      if (k >= 0) made[k] = (made[k] ?? '') + rectangle(i * width + gap, y + 0.08, (to - i) * width - 2 * gap, 0.84);
    }
    return made;
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

  return box;

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

function whole(n) {
  return n.toLocaleString('en').replaceAll(',', '\u202f');
}

function number(x) {
  const digits = Math.abs(x) >= 100 ? 0 : 1;
  const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return x.toLocaleString('en', places).replaceAll(',', '\u202f').replace('-', '−');
}
