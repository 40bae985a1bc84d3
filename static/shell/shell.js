// What the app's pages need of the browser and Streamlit does not offer: an address bar that follows the settings
// without a history entry for each step, Ctrl+Enter wherever the focus is, the keys of a presentation, markup that tells
// those who do not see the page what is on it, and a word from a new server to a page that outlived the last one.

const KEPT = ['embed', 'embed_options'];
const MOST_KEYS = 50;
const KEYS = { arrowright: 'next', pagedown: 'next', arrowleft: 'back', pageup: 'back', q: 'code' };
const TAKES_KEYS = 'input, textarea, select, [contenteditable], [role=slider], [role=combobox], [role=dialog]';
const TYPED = 'input:not([type=radio], [type=checkbox], [type=range]), textarea, [contenteditable], [role=dialog]';
let app = null;
let resent = false;
let cover = null; // what stands over the whole page: nothing seen, or a code
let codes = 0;
let counts = 0;
let lost = false;

export default function (component) {
  app = component;
  for (const key of window.early ?? []) heed(key);
  window.early = null;
  mark('presents', component.data.presents);
  write(component.data);
  tellWidth();
  tellHeight();
  if (component.data.code && component.data.code.nth !== codes) showCode(component.data.code);
  if (component.data.counts > counts) document.querySelector('[data-testid=stMain]').scrollTo({ top: 0 });
  counts = component.data.counts;
  if (component.data.draws) window.requestIdleCallback?.(() => prepare(component.data.draws));
}

// What draws figures is fetched and begun when a page is at rest, and not only once the first of them comes.
function prepare(name) {
  import(new URL(`static/js/${name}`, document.baseURI).href).catch(() => {});
}

// In a window as narrow as a phone the panels of a figure come one above another; the server draws them.
const phone = window.matchMedia('(max-width: 640px)');

const beside = window.matchMedia('(max-width: 1000px)'); // large text has no room for two panels either

function tellWidth() {
  const narrow = app && (phone.matches || (app.data.presents && beside.matches));
  if (app && app.data.narrow !== narrow) app.setTriggerValue('pressed', narrow ? 'narrow' : 'wide');
}

for (const one of [phone, beside]) one.addEventListener('change', tellWidth);

// In a presentation text is a thirtieth of the window's height, in steps, as the server draws figures; static/app.css has the rest.
function tellHeight() {
  if (!app?.data.presents) return;
  const { text, texts } = app.data;
  const wanted = texts.find(one => 30 * one >= window.innerHeight) ?? texts.at(-1);
  if (wanted !== text) app.setTriggerValue('pressed', `${wanted}`);
}

window.addEventListener('resize', tellHeight);

// The server chooses the colours of figures: a page that turns dark while it is open has it draw them anew.
const painted = document.querySelector('.stApp');

function tellColours() {
  const dark = getComputedStyle(painted).colorScheme === 'dark';
  if (app && app.data.dark !== dark) app.setTriggerValue('pressed', dark ? 'dark' : 'light');
}

new MutationObserver(tellColours).observe(painted, { attributeFilter: ['class'] });

// The style sheet goes by such marks: it is several times slower where it has to look for what is in the page.
function mark(name, holds) {
  document.documentElement.classList.toggle(name, Boolean(holds));
}

// On its way to another page Streamlit leaves an entry of the old one without its query behind: Back would lead there,
// out of a presentation and to the defaults. An entry of a page has a query of its own, or nothing to lose.
const push = window.history.pushState.bind(window.history);
window.history.pushState = (state, title, url) => {
  const { pathname, search } = new URL(url, window.location.href);
  if (search || !window.location.search || pathname !== window.location.pathname) push(state, title, url);
  left = null;
  if (app) write(app.data); // which may have come before the browser went to its page
};

// After Back or Forward what the server still says of the page that was left is no entry of the one that came.
const MOST_ASKED = 2;
let left = null;
let asks = 0; // that are left since Back or Forward: none once somebody touches the page

window.addEventListener('popstate', event => {
  left = app ? app.data.travels[0] : null;
  if (event.isTrusted) asks = MOST_ASKED;
});
for (const touch of ['pointerdown', 'keydown']) window.addEventListener(touch, () => (asks = 0), true);

function sorted(pairs) {
  const query = new URLSearchParams(pairs);
  for (const name of [...KEPT, 'no_page']) query.delete(name);
  query.sort();
  return `${query}`;
}

function isOld({ query, travels: [count, link] }) {
  const here = sorted(window.location.search);
  if (left !== null) {
    const there = Object.entries(link).flatMap(([name, texts]) => texts.map(text => [name, text]));
    if (count === left || here !== sorted(there)) return true;
    left = null;
  }
  // A control that was let go of just before has said its value late, and the server undone what it was asked for.
  const isUndone = asks > 0 && here !== sorted(query);
  if (isUndone) {
    asks -= 1;
    window.dispatchEvent(new PopStateEvent('popstate', { state: window.history.state }));
  }
  return isUndone;
}

// Shows the query of a page: in place, or as a new entry where the page has changed its view.
function write(said) {
  if (isOld(said)) return;
  const { page, pages, view, query } = said;
  const url = new URL(window.location.href);
  const name = url.pathname.replace(/\/+$/, '').split('/').pop();
  if (page ? name !== page : pages.includes(name)) return; // the browser has moved on
  const wanted = new URLSearchParams(query);
  for (const kept of KEPT) for (const value of url.searchParams.getAll(kept)) wanted.append(kept, value);
  const search = wanted.toString().replaceAll('%2C', ',');
  const was = window.history.state?.view;
  if (was === view && url.search === (search && `?${search}`)) return;
  url.search = search;
  const put = was !== undefined && was !== view ? push : window.history.replaceState.bind(window.history);
  put({ ...window.history.state, view }, '', url);
}

// A focused chip or button would take Ctrl+Enter for a press of its own: the page's shortcut gets it instead.
window.addEventListener(
  'keydown',
  event => {
    if (resent || event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.target === document.body) return;
    if (event.target.closest?.('textarea, [role=dialog]')) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.repeat) return;
    event.target.blur?.(); // a field gives up what was typed
    resent = true;
    const { key, code, ctrlKey, metaKey } = event;
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, code, ctrlKey, metaKey, bubbles: true }));
    resent = false;
  },
  true,
);

// A button that works on a file is disabled, and so loses the focus: keys go to the dialog that is open nevertheless.
window.addEventListener(
  'keydown',
  event => {
    const open = event.target === document.body && [...document.querySelectorAll('[role=dialog]')].at(-1);
    if (!open) return;
    open.focus();
    if (event.key === 'Tab') return; // goes on from there
    event.preventDefault();
    event.stopImmediatePropagation();
    const { key, code, ctrlKey, metaKey, altKey, shiftKey } = event;
    const again = { key, code, ctrlKey, metaKey, altKey, shiftKey, bubbles: true, cancelable: true };
    open.dispatchEvent(new KeyboardEvent('keydown', again));
  },
  true,
);

// Of two messages in quick succession only the last may arrive, so each has the keys before it, too; the server takes
// those that it has not taken yet. They are a state and no trigger: that of a page that is being left is lost.
const heard = { of: crypto.getRandomValues(new Uint32Array(2)).join('-'), first: 0, keys: [] };

// The "?" of a switch lies in its label, all of which is pressed: a finger on it asks for help, and switches nothing.
for (const kind of ['pointerdown', 'pointerup', 'click'])
  window.addEventListener(
    kind,
    event => {
      if (!event.target.closest?.('label:has(input) [data-testid=stTooltipIcon] button')) return;
      event.stopImmediatePropagation();
      if (kind === 'click') event.preventDefault();
    },
    true
  );

// P begins and ends a presentation; in it, arrows (or a presenter's remote) step through slides or views, B is
// black, and Q shows the QR code of the page. Any key takes such a cover away. Ctrl+Z is a text field's own where one is
// typed in; elsewhere it takes back the last pin, note or split.
window.addEventListener('keydown', heed);

function heed(event) {
  if (app && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'z' && !event.target.closest?.(TYPED)) {
    event.preventDefault();
    if (!event.repeat) tell(event.shiftKey ? 'redo' : 'undo');
    return;
  }
  if (!app || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
  if (event.target.closest?.(TAKES_KEYS)) return;
  const key = event.key.toLowerCase();
  const { presents } = app.data;
  if (cover) coverWith();
  else if (presents && key === 'b') coverWith('black-screen');
  else if (key === 'p') tell('present');
  else if (presents && KEYS[key] && !(key.length > 1 && event.target.closest?.('[role=radiogroup]'))) tell(KEYS[key]);
}

function tell(key) {
  heard.keys.push(key);
  if (heard.keys.length > MOST_KEYS) heard.first += heard.keys.splice(0, 1).length;
  app.setStateValue('heard', { ...heard, keys: [...heard.keys] });
}

function coverWith(id, ...content) {
  cover?.remove();
  cover = id ? document.createElement('div') : null;
  if (!cover) return;
  cover.id = id;
  cover.append(...content);
  cover.addEventListener('click', () => coverWith());
  document.body.append(cover);
}

function showCode({ nth, image, link, note }) {
  codes = nth;
  const [code, ...lines] = ['img', 'p', 'p'].map(name => document.createElement(name));
  [code.src, code.alt] = [image, `QR code of ${link}`];
  [link, note].forEach((text, at) => (lines[at].textContent = text));
  coverWith('code-screen', ...(image ? [code] : []), ...lines);
}

// Streamlit puts sections between the navigation's list and its items, which then are neither a list nor items of one.
const NO_LISTS = '[data-testid=stSidebarNavItems]:not([role]), [data-testid=stSidebarNavItems] li:not([role])';
const DRAWINGS = '.js-plotly-plot .main-svg';
let due = 0;

function mend() {
  due = 0;
  mark('no-sidebar', document.querySelector('[data-testid=stExpandSidebarButton]'));
  for (const one of document.querySelectorAll(NO_LISTS)) one.setAttribute('role', 'none');
  for (const one of document.querySelectorAll(DRAWINGS)) name(one);
  for (const one of document.querySelectorAll('[class*="_said_"]:has([data-testid=stAlert])')) show(one);
  if (app?.data.presents) leave();
}

// In a presentation the window belongs to figure and answer: what stands below the answer is scrolled to.
function leave() {
  const [first, answer] = ['first_screen', 'answer'].map(name => document.querySelector(`.st-key-${name}`)?.getBoundingClientRect());
  const below = first && answer ? Math.max(0, Math.round(first.bottom - answer.bottom)) : 0;
  document.documentElement.style.setProperty('--below', `${below}px`);
}

// A refusal stands below what it names, which may be out of the window of who pressed a button that is always in it.
const shown = new WeakMap();

function show(refusal) {
  if (shown.get(refusal) === refusal.className) return;
  shown.set(refusal, refusal.className);
  refusal.scrollIntoView({ block: 'nearest' });
}

// A drawing is one image with the figure's text, not its loose numbers; plotly lays several on each other.
function name(drawing) {
  const first = drawing.parentElement.querySelector(':scope > svg') === drawing;
  const [key, value] = first ? ['aria-label', drawing.parentElement.closest('[aria-label]')?.ariaLabel] : ['aria-hidden', 'true'];
  if (!value || drawing.getAttribute(key) === value) return;
  drawing.setAttribute('role', first ? 'img' : 'none');
  drawing.setAttribute(key, value);
}

new MutationObserver(() => (due ||= requestAnimationFrame(mend))).observe(document.body, {
  childList: true, subtree: true, attributeFilter: ['aria-label'],
});
mend();

// A page that finds a server again has it run, unless Streamlit does so itself: if the session is gone it says so then,
// not at the next touch.
new MutationObserver(([{ target }]) => {
  const { testConnectionState, testScriptState } = target.dataset;
  const found = testConnectionState === 'CONNECTED';
  if (lost && found && testScriptState === 'notRunning') app?.setTriggerValue('pressed', 'found');
  lost = !found;
}).observe(document.body, { subtree: true, attributeFilter: ['data-test-connection-state'] });
