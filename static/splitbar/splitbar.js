// A bar of shares whose borders are dragged, or moved by the arrow keys of the border that has the focus.

const STEP = 10; // thousandths a press of an arrow key moves; with Shift one

export default function ({ data, parentElement, setTriggerValue }) {
  const bar = parentElement.querySelector('.splitbar') ?? parentElement.appendChild(document.createElement('div'));
  const shares = data.rows.map(([, share]) => share);
  const free = data.rows.flatMap(([, , fixed], at) => (fixed ? [] : [at]));
  bar.className = 'splitbar';
  bar.role = 'group';
  bar.ariaLabel = data.label;
  const parts = data.rows.map(([name]) => element('part', `${name} `));
  const borders = free.slice(1).map((right, k) => border(free[k], right, k));
  const unspent = element('part unspent', '');
  bar.replaceChildren(...parts.flatMap((part, at) => [part, ...borders.filter(one => one.left === at).map(one => one.knob)]), unspent);
  draw();
  borders[bar.dataset.focus]?.knob.focus();
  delete bar.dataset.focus;

  function element(kind, text) {
    const one = document.createElement('div');
    one.className = kind;
    one.append(text, document.createElement('b'));
    return one;
  }

  function draw() {
    parts.forEach((part, at) => {
      const percent = `${(shares[at] / 10).toFixed(1)} %`;
      part.style.flexGrow = shares[at];
      part.lastChild.textContent = percent;
      part.title = `${data.rows[at][0]}: ${percent}${data.rows[at][2] ? ' (kept)' : ''}`;
    });
    const left = 1000 - sum(shares);
    unspent.style.flexGrow = left;
    unspent.title = `not spent: ${(left / 10).toFixed(1)} %`;
    borders.forEach(({ knob, left: at }) => {
      knob.ariaValueNow = shares[at] / 10;
      knob.ariaValueText = parts[at].title;
    });
  }

  // The border after the k-th free level goes to where the free levels before it have `wanted`; it pushes the others along.
  function place(k, wanted, before) {
    const ends = free.map((_, i) => sum(free.slice(0, i + 1).map(at => before[at])));
    const total = ends[ends.length - 1];
    const to = Math.min(Math.max(Math.round(wanted), 0), total);
    const moved = ends.map((end, i) => (i === k ? to : i < k ? Math.min(end, to) : Math.max(end, to)));
    free.forEach((at, i) => (shares[at] = moved[i] - (i ? moved[i - 1] : 0)));
    draw();
    const value = shares.map(share => share / 1000).join(', ');
    bar.dispatchEvent(new CustomEvent('follow', { bubbles: true, detail: { handle: data.name, value } }));
  }

  function border(left, right, k) {
    const knob = document.createElement('div');
    Object.assign(knob, { className: 'border', role: 'slider', tabIndex: 0, ariaValueMin: 0, ariaValueMax: 100 });
    knob.ariaLabel = `Border of ${data.rows[left][0]} and ${data.rows[right][0]}`;
    const end = from => sum(free.slice(0, k + 1).map(at => from[at]));
    const tell = () => {
      if (shares.some((share, at) => share !== data.rows[at][1])) setTriggerValue('moved', [...shares]);
    };
    knob.addEventListener('keydown', event => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      place(k, end(shares) + by * (event.shiftKey ? 1 : STEP), [...shares]);
      bar.dataset.focus = k;
      tell();
    });
    knob.addEventListener('pointerdown', event => {
      event.preventDefault();
      knob.focus();
      knob.setPointerCapture(event.pointerId);
      const before = [...shares];
      const began = event.clientX;
      const scale = 1000 / bar.clientWidth;
      const move = now => place(k, end(before) + (now.clientX - began) * scale, before);
      knob.addEventListener('pointermove', move);
      knob.addEventListener(
        'lostpointercapture',
        () => {
          knob.removeEventListener('pointermove', move);
          bar.dataset.focus = k;
          tell();
        },
        { once: true },
      );
    });
    return { knob, left };
  }

  function sum(some) {
    return some.reduce((total, one) => total + one, 0);
  }
}
