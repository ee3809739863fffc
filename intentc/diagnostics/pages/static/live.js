// Updates every page: the two verdicts, the figures, relative times. Pages work without it.

export function number(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  const text = Number.isInteger(value) ? String(value) : value.toFixed(1);
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// ---- relative times, by the server's clock ---------------------------------------------------------------------

const rendered = document.querySelector("[data-now]");
const skew = rendered ? Number(rendered.dataset.now) - Date.now() / 1000 : 0;

export function ago(seconds) {
  const passed = Date.now() / 1000 + skew - seconds;
  const length = Math.abs(passed);
  const text =
    length >= 86400 ? `${Math.floor(length / 86400)} d`
    : length >= 3600 ? `${Math.floor(length / 3600)} h`
    : length >= 60 ? `${Math.floor(length / 60)} min`
    : `${Math.floor(length)} s`;
  return passed < -1 ? `in ${text}` : `${text} ago`;
}

export function utc(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

setInterval(() => {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const text = ago(Number(time.dataset.ago));
    if (time.textContent !== text) time.textContent = text;
  }
}, 1000);

// ---- elements in the form of the templates -------------------------------------------------------------------------

export function element(tag, text, class_name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (class_name) made.className = class_name;
  return made;
}

export function cells(...columns) {
  const row = element("tr");
  for (const parts of columns) {
    const cell = element("td");
    cell.append(...parts);
    row.append(cell);
  }
  return row;
}

function shortened(text, most = 160) {
  return text.length <= most ? text : `${text.slice(0, most / 2)} … ${text.slice(-most / 2)}`;
}

export function resource(one) {
  const link = element("a", shortened(one.name || one.uuid), "name");
  link.href = "/pages/object?" + new URLSearchParams({ kind: one.kind, name: one.name || one.uuid });
  return [element("span", one.kind, "kind"), " ", link];
}

// Text for people: text between backticks is a command.
export function commands(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) parts.push(parts.splice(-2).join("`"));
  return parts.map((part, place) => {
    if (place % 2 === 0) return part;
    return element("code", part);
  });
}

// ---- the stream ---------------------------------------------------------------------------------------------------

// An event arrives at least every five seconds (`event_streams.py`); a server that is silent for longer doesn't answer.
const PATIENCE = 12_000;

// A browser keeps six connections to one host: a hidden page closes its own, or a seventh page would never load.
// `on_state(words, since)`: "live", or what is wrong and since when, in seconds since 1970 by the server's clock.
export function follow(address, events, on_state) {
  let source = null;
  let heard = Date.now();
  let opened = heard;
  let said = "";
  function hear() {
    heard = Date.now();
    if (said !== "live") on_state((said = "live"));
  }
  function doubt(words) {
    if (said !== words) on_state((said = words), heard / 1000 + skew);
  }
  function open() {
    if (source || document.hidden) return;
    opened = Date.now();
    source = new EventSource(address());
    source.onopen = hear;
    source.onerror = () => {
      // Rejected, not cut: the server answers, and the browser does not try again by itself.
      const rejected = source && source.readyState === EventSource.CLOSED;
      doubt(rejected ? "stream rejected" : "no answer");
      if (rejected) {
        source = null;
        setTimeout(open, 5000);
      }
    };
    source.addEventListener("alive", hear);
    for (const [name, listener] of Object.entries(events)) {
      source.addEventListener(name, (event) => {
        hear();
        listener(JSON.parse(event.data));
      });
    }
  }
  function close() {
    if (source) source.close();
    source = null;
  }
  // A connection may be dead without an error: its server hangs, or this machine slept.
  function listen() {
    if (document.hidden || Date.now() - heard <= PATIENCE) return;
    if (said === "live" || !said) doubt("no answer");
    if (source && Date.now() - opened > PATIENCE) {
      close();
      open();
    }
  }
  function seen() {
    open();
    listen();
  }
  setInterval(listen, 1000);
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : seen()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", seen);
  open();
}

// ---- the status ---------------------------------------------------------------------------------------------------

const TONES = ["good", "busy", "warn", "bad", "quiet"];

function toned(element, tone) {
  element.classList.remove(...TONES);
  element.classList.add(tone);
}

// `holds`: null if it is unknown, `since` when in seconds since 1970.
function show_verdict(name, holds, since) {
  const unknown = holds === null;
  const word = unknown ? `${name} unknown` : holds ? name : `not ${name}`;
  const tone = unknown ? "warn" : holds ? "good" : name === "converged" ? "busy" : "bad";
  for (const badge of document.querySelectorAll(`[data-verdict="${name}"]`)) {
    toned(badge, tone);
    badge.textContent = word;
    badge.title = "";
  }
  for (const box of document.querySelectorAll(`[data-verdict-box="${name}"]`)) {
    toned(box, tone);
    const [if_not, if_so, if_unknown] = box.dataset.texts.split("|");
    delete box.dataset.word;
    box.querySelector("strong").textContent = word;
    box.querySelector("span").textContent = unknown ? `${if_unknown} since ${utc(since)}` : holds ? if_so : if_not;
  }
}

function show_list(name, texts) {
  for (const list of document.querySelectorAll(`[data-live-list="${name}"]`)) {
    list.replaceChildren(...texts.slice(0, 12).map((text) => {
      const item = element("li");
      item.append(...commands(text));
      return item;
    }));
  }
  for (const empty of document.querySelectorAll(`[data-live-empty="${name}"]`)) empty.hidden = texts.length > 0;
  for (const filled of document.querySelectorAll(`[data-live-filled="${name}"]`)) filled.hidden = !texts.length;
}

function show_progress(progress) {
  for (const line of document.querySelectorAll("[data-live-progress]")) {
    line.hidden = !progress;
    if (!progress) continue;
    line.querySelector("label").textContent = progress.phase;
    const bar = line.querySelector("progress");
    bar.max = progress.total || 1;
    if (progress.total) bar.value = progress.done;
    else bar.removeAttribute("value");
    line.querySelector("span").textContent = progress.total ? `${number(progress.done)} of ${number(progress.total)}` : "";
  }
}

// The shown status is old: nothing may look current.
function show_doubt(words, since) {
  document.documentElement.classList.add("stale");
  const text = `${words} since ${utc(since).slice(11)}`;
  for (const badge of document.querySelectorAll("[data-verdict]")) {
    toned(badge, "quiet");
    badge.textContent = `was ${badge.textContent.replace(/^was /, "")}`;
  }
  for (const box of document.querySelectorAll("[data-verdict-box]")) {
    toned(box, "quiet");
    const word = box.querySelector("strong");
    box.dataset.word ||= word.textContent;
    word.textContent = text;
    box.querySelector("span").textContent = `last known status: ${box.dataset.word}`;
  }
}

function show_status(status) {
  document.documentElement.classList.remove("stale");
  for (const name of ["converged", "healthy"]) if (name in status) show_verdict(name, status[name], status.unknown_since);
  const pending = status.pending_work || [];
  show_list("pending_work", pending);
  show_list("attention", status.attention || []);
  show_list("not_ready", (status.not_ready || []).filter((reason) => !pending.includes(reason)));
  show_progress(status.progress);
  for (const element of document.querySelectorAll("[data-live]")) {
    const value = element.dataset.live.split(".").reduce((inner, key) => inner?.[key], status);
    if (value === undefined) continue;
    const text = number(value);
    if (element.textContent !== text) element.textContent = text;
    const figure = element.closest("[data-tone]");
    if (figure) {
      const { tone, unless } = figure.dataset;
      figure.classList.toggle(tone, unless ? text !== unless : Boolean(value));
    }
  }
}

const connection = document.getElementById("connection");
follow(
  () => "/events?only=status",
  {
    status(status) {
      show_status(status);
      document.dispatchEvent(new CustomEvent("intentc:status", { detail: status }));
    },
  },
  (words, since) => {
    if (since) show_doubt(words, since);
    // After an interruption it is live again with the next status.
    connection.textContent = since ? `${words} since ${utc(since).slice(11)}` : words;
    connection.className = since ? "badge bad" : "quiet";
  },
);

// ---- commands to copy ---------------------------------------------------------------------------------------------

export function enable_copying(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }
}

enable_copying(document);
