// Places nodes in columns from left to right. Why our own layout: labels are wide and low, and a source belongs to the
// left of its target; circular layouts of them are unreadable.

const COLUMN_GAP = 105;
const ROW = 48;
const MOST_ROWS = 11;
const SWEEPS = 4;

// nodes: [{id, width}], edges: [{source, target}], column_of: id → number. Returns {places: id → {x, y}, width, height}.
export function layered(nodes, edges, column_of) {
  const columns = new Map();
  for (const node of nodes) {
    const column = column_of(node.id);
    if (!columns.has(column)) columns.set(column, []);
    columns.get(column).push(node);
  }
  const numbers = [...columns.keys()].sort((one, other) => one - other);
  untangle(numbers.map((number) => columns.get(number)), edges);

  const places = new Map();
  let x = 0;
  let rows = 0;
  for (const number of numbers) {
    const column = columns.get(number);
    // A hub has 100 neighbours: they fill several columns instead of one that doesn't fit on the screen.
    const parts = Math.ceil(column.length / MOST_ROWS);
    const height = Math.ceil(column.length / parts);
    rows = Math.max(rows, height);
    for (let part = 0; part < parts; part += 1) {
      const chosen = column.slice(part * height, (part + 1) * height);
      const width = Math.max(...chosen.map((node) => node.width));
      chosen.forEach((node, row) => {
        places.set(node.id, { x: x + width / 2, y: (row - (chosen.length - 1) / 2) * ROW });
      });
      x += width + COLUMN_GAP;
    }
  }
  return { places, width: Math.max(1, x - COLUMN_GAP), height: rows * ROW };
}

// Sorts each column by the positions of its nodes' neighbours, so that fewer arrows cross.
function untangle(columns, edges) {
  const neighbours = new Map(columns.flat().map((node) => [node.id, []]));
  for (const { source, target } of edges) {
    neighbours.get(source)?.push(target);
    neighbours.get(target)?.push(source);
  }
  const place = new Map();
  const note = (column) => column.forEach((node, row) => place.set(node.id, (row + 0.5) / column.length));
  columns.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const wanted = new Map(column.map((node) => {
        const around = neighbours.get(node.id).map((id) => place.get(id));
        const sum = around.reduce((total, one) => total + one, place.get(node.id));
        return [node.id, sum / (around.length + 1)];
      }));
      column.sort((one, other) => wanted.get(one.id) - wanted.get(other.id));
      note(column);
    }
  }
}

// Returns each node's distance from the nodes without incoming edges; a cycle begins at the most outgoing edges.
export function ranks(ids, edges) {
  const out = new Map(ids.map((id) => [id, []]));
  const led_to = new Set();
  for (const { source, target } of edges) {
    out.get(source).push(target);
    led_to.add(target);
  }
  const found = new Map();
  const roots = ids.filter((id) => !led_to.has(id) && out.get(id).length);
  const by_reach = [...ids].sort((one, other) => out.get(other).length - out.get(one).length);
  let front = roots.length ? roots : by_reach.slice(0, 1);
  for (let rank = 0; found.size < ids.length; rank += 1) {
    if (!front.length) {
      front = by_reach.filter((id) => !found.has(id)).slice(0, 1);
      rank = 0;
    }
    for (const id of front) found.set(id, rank);
    front = [...new Set(front.flatMap((id) => out.get(id)))].filter((id) => !found.has(id));
  }
  return found;
}
