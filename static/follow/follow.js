// A figure that follows a handle. When a hand comes near a slider, the server is asked for what the figure would be at its
// values, the nearest first; while it is moved, each is drawn in place by the plotly of Streamlit's own chart, with the
// sentence and the strip. On release the page runs as ever, and shows the same.

const AT_REST = 500; // ms after which a sentence is spoken
const SOON = 500; // ms within which Streamlit tells the server of a slider that was moved
const RELEASED = 1500; // milliseconds until a range that was let go of has surely been told to the page
const FAMILIES = 24;
const FIGURES = 12;
const VALUES = 128;
let app = null;
let now = { handles: {} }; // what the server shows
let root = null; // is gone on a page whose figure follows nothing
let near = null; // key of the handle that a hand is at
let loose = null; // where what is no slider is dragged to
let held = false;
let down = false;
let asked = 0; // until when an answer is waited for
let quiet = 0; // until when nothing is asked: what is told in one moment goes to one part of the page, or to all of it
let pending = null; // the value that is still to be drawn
let drawing = false;
let ours = null; // the data that were drawn here last
let drawn = null; // the value that they are of
let speaking = 0;
let later = 0;
const families = new Map(); // name -> values in words -> what differs from a figure of the server's
const figures = new Map(); // figures as the server drew them, by name
const texts = new Map(); // text that was written over -> what it was

export default function (component) {
  app = component;
  const { data, parentElement } = component;
  now = data;
  root = parentElement;
  if (!document.querySelector('.follow-aloud')) {
    const live = document.createElement('div');
    live.className = 'follow-aloud aloud';
    live.role = 'status';
    parentElement.append(live);
  }
  asked = 0;
  document.querySelector('.st-key-stage')?.addEventListener('pointerover', listen);
  if (data.frames) take(data);
  else settle();
  watch();
  ask();
}

function take({ base, family, frames, few }) {
  const known = keep(families, family, FAMILIES, { found: new Map(), few: null });
  known.few = few ?? known.few;
  for (const [value, frame] of Object.entries(frames)) keep(known.found, value, VALUES, frame && { ...frame, base });
  const last = Object.keys(frames).at(-1);
  if ((held || loose !== null) && pending === null) pending = loose === null ? standing() : last;
  draw();
}

function keep(map, name, room, fresh) {
  const one = map.get(name) ?? fresh ?? null;
  map.delete(name);
  map.set(name, one);
  if (map.size > room) map.delete(map.keys().next().value);
  return one;
}

// The page has run: it shows what the server has, unless a hand still holds on.
function settle() {
  if (held) return;
  loose = null;
  mark(false, false);
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (held) return;
      const plot = chart();
      if (plot && ours && plot.data === ours) restore();
      else clear();
      zoomIn(plot);
    }),
  );
}

function clear() {
  drawn = null;
  texts.clear();
  for (const one of document.querySelectorAll('[data-follows]')) delete one.dataset.follows;
  mark(false, false);
}

function mark(follows, waits) {
  document.documentElement.classList.toggle('follows', follows);
  document.documentElement.classList.toggle('waits', waits);
}

function chart() {
  return now.part ? document.querySelector(`.st-key-${CSS.escape(now.part)} .js-plotly-plot`) : null;
}

// A picture that draws itself takes what it is told, and with nothing what the server told it last.
function picture() {
  return document.querySelector('.st-key-stage .ranges');
}

// A range that is dragged over the figure tells both of its ends. The figure says the last of them late: a question
// then would take controls from before the range to the server, and undo it.
const heard = new WeakSet();

function listen() {
  const plot = chart();
  if (!now.handles.brush || !plot?.on || heard.has(plot)) return;
  heard.add(plot);
  plot.on('plotly_selecting', event => {
    if (down && event?.range?.x) tell(plot, 'brush', event.range.x.join(' '));
  });
}

function tell(element, handle, value) {
  element.dispatchEvent(new CustomEvent('follow', { bubbles: true, detail: { handle, value } }));
}

// Streamlit puts another chart in the place of one that has changed: what was zoomed in to is so again.
let zoom = null;

function noteZoom() {
  const plot = chart();
  if (!plot?._fullLayout) return;
  const ends = one => Object.fromEntries(Object.keys(one).map(axis => [axis, plot._fullLayout[axis]?.range.join()]));
  if (zoom && JSON.stringify(ends(zoom.ends)) === JSON.stringify(zoom.ends)) return;
  const axes = Object.keys(plot._fullLayout._preGUI ?? {}).map(path => path.match(/^([xy]axis\d*)\.range/)?.[1]);
  const zoomed = Object.fromEntries(axes.filter(Boolean).map(axis => [axis]));
  zoom = axes.some(Boolean) ? { of: plot.layout.uirevision, ends: ends(zoomed) } : null;
}

function zoomIn(plot) {
  if (!zoom || plot?.layout?.uirevision !== zoom.of) return;
  const ranges = Object.entries(zoom.ends).map(([axis, ends]) => [`${axis}.range`, ends.split(',').map(Number)]);
  if (ranges.some(([path, ends]) => plot._fullLayout[path.split('.')[0]]?.range.join() !== ends.join()))
    window.Plotly?.relayout(plot, Object.fromEntries(ranges));
}

// The figure as the server drew it, once it stands.
function snapshot() {
  const plot = chart();
  const base = plot?.layout?.meta?.base;
  if (!base || plot.data === ours) return;
  const { template, ...rest } = plot.layout;
  const layout = structuredClone(rest);
  for (const [path, was] of Object.entries(plot._fullLayout._preGUI ?? {})) {
    const names = path.match(/[^.[\]]+/g); // what is zoomed in to is plotly's to keep, over what the server said
    const last = names.pop();
    const part = names.reduce((one, name) => one?.[name], layout);
    if (part && was === null) delete part[last];
    else if (part) part[last] = was;
  }
  figures.delete(base);
  keep(figures, base, FIGURES, { data: plot.data, layout: { ...layout, template } });
}

const idle = () => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning';

function box(key) {
  return document.querySelector(`.st-key-${CSS.escape(key)}`);
}

function standing() {
  if (loose !== null) return loose;
  const one = near && box(near)?.querySelector('input[type=range]');
  return one ? one.getAttribute('aria-valuetext') : null;
}

// The server works values out while nothing else runs; what is asked for next is what lies next to the handle.
function ask() {
  clearTimeout(later);
  if (!near || !root?.isConnected || !now.handles[near]) return;
  if (!idle() || performance.now() < Math.max(asked, quiet)) return void (later = setTimeout(ask, 40));
  snapshot();
  const { values, family, at } = now.handles[near];
  const known = families.get(family);
  if (loose !== null) {
    if (loose !== at && known?.few !== 0 && !known?.found.has(loose)) askFor([loose]);
    return;
  }
  if (!values) return;
  const here = Math.max(values.indexOf(standing()), 0);
  const order = values.map((value, at) => [Math.abs(at - here), value]).sort((a, b) => a[0] - b[0]);
  const most = known?.few ?? Infinity;
  const wanted = order.filter(([far, value]) => far <= most && !known?.found.has(value)).map(([, value]) => value);
  if (!wanted.length || most === 0) return;
  askFor(wanted.slice(0, 12));
}

function askFor(values) {
  asked = performance.now() + 5000; // where the page is run meanwhile, the question is lost
  app.setTriggerValue('near', { base: now.base, handle: near, values });
}

// What is dragged and is no slider tells so itself; it takes too many values to have them worked out beforehand.
document.addEventListener('follow', ({ detail }) => {
  if (!root?.isConnected || !now.handles[detail.handle]) return;
  [near, held, loose, quiet] = [detail.handle, !now.handles[detail.handle].typed, detail.value, 0];
  pending = loose;
  if (!drawing) requestAnimationFrame(draw);
});

// So does a field that is typed in: its figure comes before it is left.
document.addEventListener(
  'input',
  ({ target }) => {
    const key = Object.keys(now.handles).find(one => now.handles[one].typed && target.closest(`.st-key-${CSS.escape(one)}`));
    if (key) tell(target, key, target.value);
  },
  true,
);

function come(event) {
  if (!root?.isConnected) return;
  const key = Object.keys(now.handles).find(one => event.target.closest?.(`.st-key-${CSS.escape(one)}`));
  if (loose !== null && (held || event.type === 'pointerover')) return;
  loose = null;
  if (event.type === 'pointerdown') held = Boolean(key);
  if (key) {
    near = key;
    watch();
    ask();
  } else if (!held && (event.type !== 'pointerover' || !box(near ?? ' ')?.contains(document.activeElement))) {
    near = null;
  }
}

function hush() {
  noteZoom();
  quiet = performance.now() + SOON;
}

const seen = new MutationObserver(() => {
  if (!near || !root?.isConnected || !now.handles[near]) return;
  pending = standing();
  if (!drawing) requestAnimationFrame(draw);
});

function watch() {
  seen.disconnect();
  const one = near && box(near);
  if (one) seen.observe(one, { subtree: true, attributeFilter: ['aria-valuetext'] });
}

for (const kind of ['pointerover', 'pointerdown', 'focusin']) document.addEventListener(kind, come, true);
document.addEventListener('pointerdown', () => (down = true), true);
document.addEventListener('keydown', hush, true);
for (const kind of ['pointerup', 'pointercancel'])
  document.addEventListener(
    kind,
    () => {
      down = false;
      hush();
      if (loose !== null) quiet += RELEASED;
      setTimeout(() => (held = false));
    },
    true,
  );

async function draw() {
  if (drawing || pending === null || !near) return;
  const handle = now.handles[near];
  const value = pending;
  pending = null;
  if (value === handle.at) return void restore();
  const known = families.get(handle.family);
  const frame = known?.found.get(value);
  const figure = frame && figures.get(frame.base);
  const [plot, own] = [chart(), picture()];
  if (value === drawn && (plot ?? own)?.dataset.follows === value) return mark(true, false); // a slider that is let go says it once more
  if (!frame || !(own || (figure && plot && window.Plotly))) {
    if (loose === null) mark(true, true);
    return void ask();
  }
  drawing = true;
  try {
    if (own) own.put(frame.picture);
    else if (!handle.still && (frame.figure.length || plot.data === ours)) await react(plot, figure, frame.figure);
  } finally {
    drawing = false;
  }
  say('.st-key-answer', frame.answer);
  say('.st-key-heading [data-testid=stCaptionContainer]', frame.strip);
  badges(frame.badges);
  mark(true, false);
  (plot ?? own).dataset.follows = value;
  drawn = value;
  speak(frame.answer.join(''));
  if (pending !== null) requestAnimationFrame(draw);
  else if (loose !== null) ask();
}

async function restore() {
  const figure = figures.get(now.base);
  const plot = chart();
  if (figure && plot && plot.data === ours) await react(plot, figure, []);
  picture()?.put(null);
  for (const [node, text] of texts) node.nodeValue = text;
  badges(null);
  clear();
}

// Both are drawn from the figure that the server drew, whose parts stay as they are.
function react(plot, figure, differences) {
  const { width, height, selections } = plot.layout;
  const { template, ...rest } = figure.layout;
  let parts = { data: figure.data.map(one => ({ ...one })), layout: { ...structuredClone(rest), width, height } };
  if (selections) parts.layout.selections = selections;
  for (const [path, ...value] of differences) parts = put(parts, path, value);
  parts.layout.template = template;
  ours = parts.data;
  return window.Plotly.react(plot, parts.data, parts.layout);
}

function put(parts, [first, ...path], value) {
  const made = Array.isArray(parts) ? [...parts] : { ...parts };
  if (path.length) made[first] = put(made[first] ?? {}, path, value);
  else if (value.length) made[first] = value[0];
  else delete made[first];
  return made;
}

// Text of a sentence is written over piece by piece: so it looks as it did, and the page writes over it in its turn.
function say(place, pieces) {
  const root = document.querySelector(`${place} p`);
  if (!root || !pieces) return;
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walk.nextNode()) nodes.push(walk.currentNode);
  const same = nodes.length === pieces.length;
  nodes.forEach((node, at) => {
    const text = same ? pieces[at] : at ? '' : pieces.join('');
    if (!texts.has(node)) texts.set(node, node.nodeValue);
    if (node.nodeValue !== text) node.nodeValue = text;
  });
}

function badges(names) {
  for (const one of document.querySelectorAll('.st-key-heading .stMarkdownBadge')) {
    const name = one.textContent.trim();
    one.style.display = names && !names.some(known => name.endsWith(known)) ? 'none' : '';
  }
}

function speak(text) {
  clearTimeout(speaking);
  speaking = setTimeout(() => {
    const live = document.querySelector('.follow-aloud');
    if (live) live.textContent = text;
  }, AT_REST);
}
