// A guess that is dragged before anything is shown: a place on an axis, or a curve that bends with it. The page hears of
// it once it rests, and writes it into the field for those who type.

const SVG = 'http://www.w3.org/2000/svg';
const [WIDE, HIGH] = [1000, 400];

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector('.guess') ?? parentElement.appendChild(element('div', 'guess'));
  box.tell = value => setTriggerValue('guessed', value);
  if (box.dataset.step === data.step) return box.put(data.value);
  box.dataset.step = data.step;

  const { low, high, by, stops, shape } = data;
  const upright = shape === 'root';
  const form = data.log ? Math.log : x => x;
  const back = data.log ? Math.exp : x => x;
  const plot = element('div', `plot ${upright ? 'upright' : 'flat'}`);
  const drawing = document.createElementNS(SVG, 'svg');
  drawing.setAttribute('viewBox', `0 0 ${WIDE} ${HIGH}`);
  drawing.setAttribute('preserveAspectRatio', 'none');
  drawing.setAttribute('role', 'img');
  const curve = document.createElementNS(SVG, 'path');
  drawing.append(curve);
  const knob = element('div', 'knob');
  const bubble = element('b', '');
  knob.append(bubble);
  Object.assign(knob, { role: 'slider', tabIndex: 0, ariaLabel: data.label, ariaValueMin: low, ariaValueMax: high });
  if (upright) knob.ariaOrientation = 'vertical';
  plot.append(drawing, ...data.ticks.map(tick), knob);
  box.replaceChildren(plot, element('div', 'title', data.title));
  let value = null;
  let resting = 0;
  box.put = next => {
    if (!plot.classList.contains('held')) show(next);
  };
  show(data.value);

  // From 0 to 1 along the axis; of a bell, whose axis has two sides, from the middle on.
  function part(x) {
    if (shape === 'bell') return 0.5 + x / (2 * high);
    return (form(x) - form(low)) / (form(high) - form(low));
  }

  function show(next) {
    value = next;
    const at = value ?? low; // where it begins must not hint at what is right
    const place = Math.min(Math.max(part(at), 0), 1);
    knob.style.setProperty(upright ? 'bottom' : 'left', `${100 * place}%`);
    knob.style.setProperty(upright ? 'left' : 'bottom', upright ? '100%' : '0');
    bubble.textContent = value === null ? '?' : words(value);
    plot.classList.toggle('open', value === null);
    knob.ariaValueNow = at;
    knob.ariaValueText = value === null ? 'no guess yet' : words(value);
    drawing.setAttribute('aria-label', `${data.title}: ${knob.ariaValueText}`);
    curve.setAttribute('d', drawn(at, place));
  }

  function drawn(at, place) {
    if (shape === 'bell') {
      const top = Math.min(1, 0.7 / Math.sqrt(at));
      const points = Array.from({ length: 201 }, (_, i) => (i / 100 - 1) * high);
      return line(points.map(x => [WIDE * (0.5 + x / (2 * high)), HIGH * (1 - top * Math.exp((-Math.SQRT2 * Math.abs(x)) / at))]));
    }
    if (upright) return line([[0, HIGH * (1 - part(data.start))], [WIDE, HIGH * (1 - place)]]);
    return line([[WIDE * place, HIGH], [WIDE * place, 0]]);
  }

  function rounded(x) {
    if (stops) return stops.reduce((best, one) => (Math.abs(part(one) - part(x)) < Math.abs(part(best) - part(x)) ? one : best));
    const step = data.log ? 10 ** (Math.floor(Math.log10(x)) - 1) : by;
    return Number(Math.min(Math.max(Math.round(x / step) * step, low), high).toPrecision(6));
  }

  function words(x) {
    return `${number(x)}${data.unit ? ` ${data.unit}` : ''}`;
  }

  function tick(x) {
    const one = element('span', 'tick', number(x));
    one.style.setProperty(upright ? 'bottom' : 'left', `${100 * (shape === 'bell' ? 0.5 + x / (2 * high) : part(x))}%`);
    return one;
  }

  function rest() {
    clearTimeout(resting);
    resting = setTimeout(() => box.tell(value), 300);
  }

  knob.addEventListener('keydown', event => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    const end = { Home: low, End: high }[event.key];
    if (way === undefined && end === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const now = value ?? low;
    if (end !== undefined) show(end);
    else if (stops) show(stops[Math.min(Math.max(stops.indexOf(now) + Math.sign(way), 0), stops.length - 1)]);
    else show(rounded(data.log ? now * 1.1 ** way : now + way * by));
    rest();
  });

  plot.addEventListener('pointerdown', event => {
    event.preventDefault();
    plot.setPointerCapture(event.pointerId);
    plot.classList.add('held');
    knob.focus();
    const follow = now => {
      const area = plot.getBoundingClientRect();
      const along = upright ? (area.bottom - now.clientY) / area.height : (now.clientX - area.left) / area.width;
      const to = Math.min(Math.max(along, 0), 1);
      if (shape === 'bell') show(rounded(Math.max(Math.abs(to - 0.5) * 2 * high, low)));
      else show(rounded(back(form(low) + to * (form(high) - form(low)))));
    };
    follow(event);
    plot.addEventListener('pointermove', follow);
    plot.addEventListener('lostpointercapture', () => {
      plot.removeEventListener('pointermove', follow);
      plot.classList.remove('held');
      rest();
    }, { once: true });
  });

  function line(points) {
    return `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')}`;
  }
}

function number(x) {
  return x.toLocaleString('en').replaceAll(',', '\u202f').replace('-', '\u2212');
}

function element(kind, name, text = '') {
  const one = document.createElement(kind);
  one.className = name;
  one.textContent = text;
  return one;
}
