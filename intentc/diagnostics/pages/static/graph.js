// Draws a neighbourhood or the reaction map, which the page also has as a list. The library is loaded before this.

import { layered, ranks } from "./layers.js";

const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
const SHOWN = 30;
const LEAST_ZOOM = 0.62;
const MOST_ZOOM = 1.15;
const MOST_LABELS = 24;
const MARGIN = 28;

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "bold 11px system-ui, sans-serif";

// Names differ at their ends: leading components are dropped first, then the middle of the last one.
function shortened(name) {
  const components = name.split(":");
  let text = name;
  while (text.length > SHOWN && components.length > 1) {
    components.shift();
    text = `…:${components.join(":")}`;
  }
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN / 2)}…${text.slice(1 - SHOWN / 2)}`;
}

function labelled(lines) {
  const widths = lines.map((line) => ruler.measureText(line).width);
  return { label: lines.join("\n"), width: Math.ceil(Math.max(...widths)) + 16, height: lines.length * 14 + 7 };
}

const look = () => [
  {
    selector: "node",
    style: {
      label: "data(label)", "text-wrap": "wrap", "text-valign": "center", "font-size": 11,
      "font-family": "system-ui, sans-serif", shape: "round-rectangle", width: "data(width)", height: "data(height)",
      color: colour("--text"), "background-color": colour("--node"),
      "border-width": 1, "border-color": colour("--node-line"),
    },
  },
  { selector: "node.made", style: { "background-color": colour("--node-made") } },
  { selector: "node.compiled", style: { "border-width": 3 } },
  { selector: "node.center", style: { "border-width": 3, "font-weight": "bold" } },
  {
    selector: "edge",
    style: {
      width: 1.3, "line-color": colour("--edge"), "target-arrow-color": colour("--edge"),
      "target-arrow-shape": "triangle", "arrow-scale": 0.9, "curve-style": "bezier", "font-size": 9,
      color: colour("--soft"), "text-rotation": "autorotate", "text-background-color": colour("--panel"),
      "text-background-opacity": 0.85, "text-background-padding": 1,
    },
  },
  { selector: "edge.labelled", style: { label: "data(label)" } },
  { selector: "edge.dashed", style: { "line-style": "dashed" } },
  { selector: "edge.pointed", style: { label: "data(label)", "z-index": 1 } },
  // Within a column: out of the side and back, past what stands between.
  {
    selector: "edge.beside",
    style: {
      "curve-style": "unbundled-bezier", "control-point-distances": "data(bow)", "control-point-weights": 0.5,
      "source-endpoint": "-50% 0", "target-endpoint": "-50% 0", "edge-distances": "endpoints",
    },
  },
  // Past a column: around it.
  {
    selector: "edge.around",
    style: { "curve-style": "unbundled-bezier", "control-point-distances": 45, "control-point-weights": 0.5 },
  },
  { selector: ".faint", style: { opacity: 0.12 } },
];

function placed(drawing, column_of) {
  const { places, width, height } = layered(drawing.nodes.map((node) => node.data), drawing.edges.map((edge) => edge.data), column_of);
  for (const node of drawing.nodes) node.position = places.get(node.data.id);
  for (const edge of drawing.edges) {
    const [from, to] = [places.get(edge.data.source), places.get(edge.data.target)];
    const columns = Math.abs(column_of(edge.data.source) - column_of(edge.data.target));
    if (columns === 0) {
      edge.classes.push("beside");
      edge.data.bow = (from.y < to.y ? 1 : -1) * (20 + Math.abs(from.y - to.y) * 0.25);
    } else if (columns > 1) {
      edge.classes.push("around");
    }
  }
  return { ...drawing, width, height };
}

// ---- the neighbourhood of one object --------------------------------------------------------------------------------

// The maker, holder or parent of an object is placed to its left.
const leads_left = (edge) => edge.relation === "parent";

function neighbourhood(answer) {
  const key = (one, other) => JSON.stringify([one, other]);
  const makers = new Set(answer.edges.filter((edge) => edge.relation === "makes").map((edge) => key(edge.to, edge.from)));
  const of_itself = new Set(answer.edges.filter((edge) => edge.from === edge.to).map((edge) => edge.from));
  const known = new Set(answer.nodes.map((node) => node.id));
  const edges = answer.edges.filter((edge) =>
    edge.from !== edge.to && known.has(edge.from) && known.has(edge.to) && !(edge.relation === "parent" && makers.has(key(edge.from, edge.to))));
  const columns = sides(answer, edges);
  const drawing = {
    nodes: answer.nodes.map((node) => ({
      data: {
        id: node.id,
        ...labelled([node.kind + (of_itself.has(node.id) ? " ↻" : ""), shortened(node.name || node.uuid)]),
        shown: `${node.kind} ${node.name || node.uuid}${of_itself.has(node.id) ? ", which refers to itself" : ""}`,
        href: "/pages/object?" + new URLSearchParams({ kind: node.kind, name: node.name || node.uuid }),
      },
      classes: [node.role === "output" ? "made" : "", node.id === answer.center ? "center" : ""],
    })),
    edges: edges.map((edge, place) => ({
      data: { id: `edge ${place}`, source: edge.from, target: edge.to, label: edge.relation, shown: edge.relation },
      classes: [edge.made ? "dashed" : "", edges.length > MOST_LABELS ? "" : "labelled"],
    })),
    shown: "Choose an object to open its page. Drag to move; the wheel zooms with Ctrl.",
    center: answer.center,
  };
  return placed(drawing, (id) => columns.get(id) ?? 0);
}

// id → column: the center is 0; every other node is placed next to the one that it is reached from.
function sides(answer, edges) {
  const depth = new Map(answer.nodes.map((node) => [node.id, node.depth]));
  const columns = new Map([[answer.center, 0]]);
  for (const node of [...answer.nodes].sort((one, other) => one.depth - other.depth)) {
    if (columns.has(node.id)) continue;
    const edge = edges.find((one) =>
      (one.from === node.id && depth.get(one.to) < node.depth) || (one.to === node.id && depth.get(one.from) < node.depth));
    const nearer = edge && columns.get(edge.from === node.id ? edge.to : edge.from);
    const to_the_left = edge !== undefined && (edge.from === node.id) !== leads_left(edge);
    columns.set(node.id, (nearer ?? 0) + (to_the_left ? -1 : 1));
  }
  return columns;
}

// ---- the reaction map -----------------------------------------------------------------------------------------------

function reactions(answer) {
  // One arrow for all causes between two kinds: 80 labelled arrows would be unreadable.
  const arrows = new Map();
  const to_itself = new Set();
  const compiled = new Set(answer.compiled);
  for (const edge of answer.edges) {
    if (edge.kind === edge.to) to_itself.add(edge.kind);
    const id = JSON.stringify([edge.kind, edge.to]);
    const arrow = arrows.get(id) || { from: edge.kind, to: edge.to, causes: [] };
    arrow.causes.push(edge.cause);
    arrows.set(id, arrow);
  }
  const kinds = [...new Set(answer.edges.flatMap((edge) => [edge.kind, edge.to]))];
  const drawn = [...arrows].filter(([, arrow]) => arrow.from !== arrow.to);
  const rank = ranks(kinds, drawn.map(([, arrow]) => ({ source: arrow.from, target: arrow.to })));
  const drawing = {
    nodes: kinds.map((kind) => ({
      data: {
        id: kind,
        ...labelled([kind + (to_itself.has(kind) ? " ↻" : "")]),
        shown: `${kind}${compiled.has(kind) ? ", which is compiled" : ""}${to_itself.has(kind) ? ": also leads to others of its kind" : ""}`,
      },
      classes: [compiled.has(kind) ? "compiled" : ""],
    })),
    edges: drawn.map(([id, arrow]) => ({
      data: {
        id: `edge ${id}`, source: arrow.from, target: arrow.to,
        shown: `${arrow.from} → ${arrow.to} through ${arrow.causes.join(", ")}`,
      },
      classes: [],
    })),
    shown: "Choose a kind to see its own arrows, or an arrow for its causes. Drag to move; the wheel zooms with Ctrl.",
  };
  return placed(drawing, (id) => rank.get(id));
}

// ---- the canvas -----------------------------------------------------------------------------------------------------

const DRAWINGS = { neighbourhood, reactions };

async function draw(container) {
  const answered = await fetch(container.dataset.from, { headers: { Accept: "application/json" } });
  if (!answered.ok) return;
  const drawing = DRAWINGS[container.dataset.drawing](await answered.json());
  if (!drawing.nodes.length) return;
  container.hidden = false;
  const zoom = bounded((container.clientWidth - 2 * MARGIN) / drawing.width, LEAST_ZOOM, MOST_ZOOM);
  // The height that it needs, including a line for the note.
  container.style.height = `${bounded(drawing.height * zoom + 2 * MARGIN + 20, 150, Math.max(300, innerHeight * 0.8))}px`;
  const graph = cytoscape({
    container, style: look(), elements: { nodes: drawing.nodes, edges: drawing.edges }, layout: { name: "preset" },
    minZoom: 0.15, maxZoom: 3, boxSelectionEnabled: false, autounselectify: true, userZoomingEnabled: false,
  });
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = drawing.shown;
  container.append(note);
  show_whole(graph, drawing.center);

  // The wheel scrolls the page; with Ctrl it zooms.
  container.addEventListener("wheel", (event) => graph.userZoomingEnabled(event.ctrlKey), { capture: true, passive: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.style(look()));
  if (drawing.edges.some((edge) => edge.data.label)) {
    graph.on("mouseover", "edge", (event) => event.target.addClass("pointed"));
    graph.on("mouseout", "edge", (event) => event.target.removeClass("pointed"));
  }
  graph.on("mouseover", "node, edge", (event) => { note.textContent = event.target.data("shown"); });
  graph.on("tap", "node", (event) => {
    note.textContent = event.target.data("shown");
    const href = event.target.data("href");
    if (href) {
      location.href = href;
      return;
    }
    graph.elements().addClass("faint");
    event.target.closedNeighborhood().removeClass("faint");
  });
  graph.on("tap", "edge", (event) => { note.textContent = event.target.data("shown"); });
  graph.on("tap", (event) => { if (event.target === graph) graph.elements().removeClass("faint"); });
  // For tests and for the browser's developer tools.
  container.dataset.drawn = `${graph.nodes().length} nodes, ${graph.edges().length} edges`;
}

const bounded = (value, least, most) => Math.max(least, Math.min(most, value));

// Shows all of it if that is readable, else its center.
function show_whole(graph, center) {
  graph.fit(undefined, MARGIN);
  const fitting = graph.zoom();
  graph.zoom(bounded(fitting, LEAST_ZOOM, MOST_ZOOM));
  graph.center(center && fitting < LEAST_ZOOM ? graph.getElementById(center) : undefined);
  graph.panBy({ x: 0, y: -10 });
}

for (const container of document.querySelectorAll("[data-drawing]")) draw(container);
