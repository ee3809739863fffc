// Adds the journal's new lines; the filters of the page also apply to them.

import { ago, element, follow, resource, utc } from "./live.js";

const MOST_ROWS = 500;

const table = document.getElementById("lines");
const body = table.tBodies[0];
const none = document.getElementById("no-lines");
const pause = document.getElementById("pause");
const following = document.getElementById("following");
const { kind, name, sort } = table.dataset;

let last = Number(table.dataset.last);
let paused = false;
let kept = [];

// `entries`: the nodes of each entry.
function listed(entries, between, most) {
  const parts = entries.slice(0, most).flatMap((entry, place) => (place ? [between, ...entry] : entry));
  if (entries.length > most) parts.push(` and ${entries.length - most} more`);
  return parts;
}

const list = (resources, between, most) => listed(resources.map(resource), between, most);

function because(word, parts) {
  const made = element("div", word, "because");
  made.append(...parts);
  return made;
}

const TONES = { done: "good", waiting: "busy", failed: "bad", held: "bad" };

function row(line) {
  const made = element("tr", undefined, "new");
  const time = element("time", ago(line.at));
  time.dateTime = new Date(line.at * 1000).toISOString();
  time.title = utc(line.at);
  time.dataset.ago = line.at;
  const when = element("td");
  when.append(time);
  const what = element("td");
  const of = element("td");
  if (line.sort === "write") {
    what.append(element("span", "write", "badge quiet"));
    of.append(`${line.operation} `, ...resource(line.object));
    if (line.fields.length) {
      const sets = element("span", "sets ", "because");
      sets.append(...listed(line.fields.map((field) => [element("code", field)]), ", ", 8));
      of.append(" ", sets);
    }
    if (line.written) of.append(element("span", ` revision ${line.written}`, "quiet"));
    if (line.drift) of.append(" ", element("span", "drift", "badge warn"));
  } else {
    what.append(element("span", line.status, `badge ${TONES[line.status] || "quiet"}`));
    of.append(...resource(line.intent));
    if (line.path.length > 1) of.append(because("by ", list(line.path, " → ", 8)));
    if (line.objects.length) of.append(because("changed ", list(line.objects, ", ", 3)));
  }
  made.append(element("td", line.sequence, "number"), when, what, of, element("td", line.revision, "number"));
  return made;
}

// Matches lines like the server does for this page: by a whole name, a uuid, or the end of a name.
function wanted(line) {
  if (sort && line.sort !== sort) return false;
  if (!kind && !name) return true;
  const about = [line.object, line.intent, ...line.path, ...line.objects].filter(Boolean);
  return about.some((one) =>
    (!kind || one.kind === kind) &&
    (!name || one.name === name || one.uuid === name || one.name.endsWith(`:${name}`)));
}

function show(line) {
  body.prepend(row(line));
  while (body.rows.length > MOST_ROWS) body.deleteRow(-1);
  none.hidden = true;
}

// Lines are numbered consecutively, unless this page was too slow or the compiler is a new process.
function show_gap(sequence) {
  if (!last || sequence === last + 1) return;
  const missed = sequence - last - 1;
  const text = sequence <= last
    ? "the compiler was restarted: lines count from 1 again"
    : `${missed} line${missed === 1 ? "" : "s"} in between arrived too fast; reload the page to see them`;
  const cell = element("td", text, "quiet");
  cell.colSpan = 5;
  const made = element("tr");
  made.append(cell);
  body.prepend(made);
}

function show_state() {
  pause.textContent = paused ? "resume" : "pause";
  pause.setAttribute("aria-pressed", String(paused));
  if (paused) following.textContent = `paused; ${kept.length} new line${kept.length === 1 ? "" : "s"}`;
}

pause.hidden = false;
pause.addEventListener("click", () => {
  paused = !paused;
  if (!paused) {
    kept.forEach(show);
    kept = [];
    following.textContent = "live";
  }
  show_state();
});

follow(
  () => `/events?only=line&after=${last}`,
  {
    line(line) {
      show_gap(line.sequence);
      last = line.sequence;
      if (!wanted(line)) return;
      if (!paused) return show(line);
      kept.push(line);
      if (kept.length > MOST_ROWS) kept.shift();
      show_state();
    },
  },
  (words, since) => {
    if (!paused) following.textContent = since ? `${words} since ${utc(since).slice(11)}` : words;
  },
);
