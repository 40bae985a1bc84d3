// A list whose rows change places: dragged, or by the arrow keys of the row that has the focus, or by a row's buttons.

export default function ({ data, parentElement, setTriggerValue }) {
  const names = data.rows.map(([name]) => name);
  const list = parentElement.querySelector('ol') ?? parentElement.appendChild(document.createElement('ol'));
  list.className = 'sortable';
  list.ariaLabel = data.label;
  let dragged = null;

  function move(from, to) {
    if (from === null || from === to || to < 0 || to >= names.length) return;
    const moved = [...names];
    moved.splice(to, 0, ...moved.splice(from, 1));
    list.dataset.focus = to;
    setTriggerValue('moved', moved);
  }

  list.replaceChildren(
    ...data.rows.map(([name, note], at) => {
      const row = document.createElement('li');
      row.draggable = true;
      row.tabIndex = 0;
      row.append(span('handle', '⠿'), data.chooses ? link(name) : span('name', name), span('note', note), button(name, at, -1), button(name, at, 1));
      row.addEventListener('keydown', event => {
        const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (!by) return;
        event.preventDefault();
        move(at, at + by);
      });
      row.addEventListener('dragstart', event => {
        dragged = at;
        event.dataTransfer.effectAllowed = 'move';
        event.dataTransfer.setData('text/plain', '');
      });
      row.addEventListener('dragover', event => dragged !== null && event.preventDefault());
      row.addEventListener('drop', event => {
        event.preventDefault();
        move(dragged, at);
      });
      row.addEventListener('dragend', () => (dragged = null));
      return row;
    }),
  );
  list.children[list.dataset.focus]?.focus();
  delete list.dataset.focus;

  function span(kind, text) {
    const one = document.createElement('span');
    one.className = kind;
    one.textContent = text;
    if (kind === 'handle') one.ariaHidden = 'true';
    return one;
  }

  function link(name) {
    const one = document.createElement('button');
    one.type = 'button';
    one.className = 'name';
    one.textContent = name;
    one.addEventListener('click', () => setTriggerValue('chosen', name));
    return one;
  }

  function button(name, at, by) {
    const one = document.createElement('button');
    one.type = 'button';
    one.textContent = by < 0 ? '↑' : '↓';
    one.ariaLabel = `Move ${name} ${by < 0 ? 'up' : 'down'}`;
    one.disabled = at + by < 0 || at + by >= names.length;
    one.addEventListener('click', () => move(at, at + by));
    return one;
  }
}
