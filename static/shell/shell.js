// What the app's pages need of the browser and Streamlit does not offer: an address bar that follows the settings
// without a history entry for each step, and Ctrl+Enter wherever the focus is.

const KEPT = ['embed', 'embed_options'];
let resent = false;

export default function (component) {
  write(component.data);
}

// Shows the query of a page: in place, or as a new entry where the page has changed its view.
function write({ page, pages, view, query }) {
  const url = new URL(window.location.href);
  const name = url.pathname.replace(/\/+$/, '').split('/').pop();
  if (page ? name !== page : pages.includes(name)) return; // the browser has moved on
  const wanted = new URLSearchParams(query);
  for (const kept of KEPT) for (const value of url.searchParams.getAll(kept)) wanted.append(kept, value);
  const search = wanted.toString().replaceAll('%2C', ',');
  const was = window.history.state?.view;
  if (was === view && url.search === (search && `?${search}`)) return;
  url.search = search;
  const how = was !== undefined && was !== view ? 'pushState' : 'replaceState';
  window.history[how]({ ...window.history.state, view }, '', url);
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
