// The overview's problems: requested again when their number in the status changes.

import { cells, commands, resource } from "./live.js";

const SHOWN = 20;
const LEAST_PERIOD = 5000;

const section = document.querySelector("[data-problems]");
const table = section.querySelector("[data-live-table]");
const none = section.querySelector(".empty");
let count = Number(section.dataset.problems);
let wanted = count;
let asking = false;

async function ask() {
  asking = true;
  count = wanted;
  const answered = await fetch(`/views/problems?limit=${SHOWN}`);
  if (answered.ok) {
    const { rows } = await answered.json();
    table.querySelector("tbody").replaceChildren(...rows.map((row) => cells(resource(row), [row.reason], commands(row.message))));
    table.hidden = !rows.length;
    none.hidden = rows.length > 0;
  }
  // During a storm of problems the list is requested every few seconds, not with each change.
  setTimeout(() => {
    asking = false;
    if (wanted !== count) ask();
  }, LEAST_PERIOD);
}

document.addEventListener("intentc:status", ({ detail }) => {
  wanted = detail.counts?.problems ?? wanted;
  if (wanted !== count && !asking) ask();
});
