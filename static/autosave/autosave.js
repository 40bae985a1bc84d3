// Keeps the notebook in this browser, if its user has said so: one record, written when the app has something new.
// A record that another tab wrote since is not written over: the app is told, and asks. After a reload the app has what
// this tab kept last without being asked.

const NAME = 'treedp';
const STORE = 'notebook';
const RECORD = 'kept';
const TAB = 'treedp-kept'; // in the tab: which version it has
let app = null;
let session = null; // of the app: after it was started anew, another one knows nothing of this tab
let base = null; // the version that this tab read or wrote last
let newest = -1; // what the app offered last
let tried = -1; // what was to be written last, and whether it could not be
let failed = false;
let busy = Promise.resolve();
let asked = -1;

export default function (component) {
  app = component;
  const { data } = component;
  newest = data.nth;
  busy = busy.then(() => act(data)).catch(() => undefined);
}

async function act(data) {
  if (data.session !== session) {
    const isReload = session === null && performance.getEntriesByType('navigation')[0]?.type === 'reload';
    session = data.session;
    base = null;
    tried = asked = -1;
    failed = false;
    const found = await read().catch(() => undefined); // a private window may have no store
    if (found && isReload && found.version === sessionStorage.getItem(TAB)) await load();
    else if (found) tell({ kind: 'found', ...words(found) });
  }
  if (data.asked !== asked) {
    asked = data.asked;
    if (data.wants === 'remove') await remove();
    if (data.wants === 'load') await load();
    if (data.wants === 'file') await saveAsFile();
    if (data.wants === 'force') base = (await read())?.version ?? null;
  }
  if (data.on && data.url && data.nth === newest && data.nth !== tried) {
    tried = data.nth;
    await write(data).catch(async () => hasFailed(true, await read().then(() => true, () => false)));
  }
}

async function write({ url, title }) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error('no longer there');
  const content = await answer.arrayBuffer();
  const version = crypto.randomUUID();
  const other = await change(store => {
    const before = store.get(RECORD);
    return new Promise((done, fail) => {
      before.onerror = () => fail(before.error);
      before.onsuccess = () => {
        const held = before.result;
        if ((held?.version ?? null) !== base) return done({ held });
        store.put({ content, title, version, when: Date.now() }, RECORD);
        done(null);
      };
    });
  });
  if (other) return tell(other.held ? { kind: 'conflict', ...words(other.held) } : { kind: 'none' });
  setBase(version);
  hasFailed(false);
}

function hasFailed(now, isOpen = true) {
  if (now !== failed) tell({ kind: now ? 'failed' : 'written', is_open: isOpen });
  failed = now;
}

async function load() {
  const found = await read();
  if (!found) return tell({ kind: 'none' });
  setBase(found.version);
  const bytes = new Uint8Array(found.content);
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  tell({ kind: 'content', content: btoa(text), ...words(found) });
}

async function saveAsFile() {
  const found = await read();
  if (!found) return tell({ kind: 'none' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([found.content]));
  link.download = `${found.title.replace(/[^\p{L}\p{N}_-]+/gu, ' ').trim() || 'Notebook'} TRUE COUNTS.treedp`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function remove() {
  await change(store => store.delete(RECORD));
  setBase(null);
  tried = -1;
}

function setBase(version) {
  base = version;
  if (version) sessionStorage.setItem(TAB, version);
  else sessionStorage.removeItem(TAB);
}

function words({ title, when, content }) {
  return { title, when, size: content.byteLength };
}

function tell(what) {
  app.setTriggerValue('told', what);
}

function read() {
  return change(store => {
    const asking = store.get(RECORD);
    return new Promise((done, fail) => {
      asking.onsuccess = () => done(asking.result);
      asking.onerror = () => fail(asking.error);
    });
  });
}

// Does something in one transaction, and returns what it found once that is written down.
function change(how) {
  return new Promise((done, fail) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction(STORE, 'readwrite');
      const found = Promise.resolve(how(transaction.objectStore(STORE)));
      transaction.oncomplete = () => {
        database.close();
        found.then(done, fail);
      };
      transaction.onabort = transaction.onerror = () => {
        database.close();
        fail(transaction.error);
      };
    };
  });
}
