// Keeps a rendered page current: after a change it is fetched again, and its parts with data-fresh are replaced. If the
// drawing would change, the page is reloaded.

import { enable_copying } from "./live.js";

const PERIOD = 3000;
let shown = document.body.dataset.applied;
let due = false;
let busy = false;
let last = 0;

function signature(status) {
  return [status.applied_revision, status.converged, status.counts?.quarantined, status.counts?.problems,
          status.counters?.evaluations].join(" ");
}

const links = (page) => [...page.querySelectorAll("[aria-labelledby=around] tbody tr")].map((row) => row.textContent).join("\n");

function replace(old, fresh) {
  const open = [...old.querySelectorAll("details")].map((one) => one.open);
  old.replaceChildren(...document.adoptNode(fresh).childNodes);
  [...old.querySelectorAll("details")].forEach((one, place) => { if (open[place]) one.open = true; });
  enable_copying(old);
}

// The policy forbids parsing text as HTML; a request may return a document.
function fetched() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    request.onload = () => (request.response ? resolve(request.response) : reject(new Error("no page")));
    request.onerror = () => reject(new Error("no answer"));
    request.send();
  });
}

async function refresh() {
  if (busy || !due || document.hidden) return;
  const left = PERIOD - (Date.now() - last);
  if (left > 0) {
    setTimeout(refresh, left);
    return;
  }
  busy = true;
  due = false;
  try {
    const page = await fetched();
    const old = [...document.querySelectorAll("[data-fresh]")];
    const fresh = [...page.querySelectorAll("[data-fresh]")];
    if (old.length !== fresh.length || links(document) !== links(page)) {
      location.reload();
      return;
    }
    old.forEach((one, place) => replace(one, fresh[place]));
    document.dispatchEvent(new CustomEvent("intentc:fresh"));
  } catch {
    due = true;  // the connection shows that the server doesn't answer; the next status tries again
  } finally {
    last = Date.now();
    busy = false;
  }
  if (due) setTimeout(refresh, PERIOD);
}

let known = null;
document.addEventListener("intentc:status", ({ detail: status }) => {
  const now = signature(status);
  const behind = known === null ? String(status.applied_revision) !== shown : now !== known;
  known = now;
  if (behind) {
    due = true;
    refresh();
  }
});
document.addEventListener("visibilitychange", refresh);
