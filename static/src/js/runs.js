// The run list while it is open: changed rows change in place, new ones come in on top. Who has scrolled down or is
// busy in the table is not disturbed: new rows wait behind a button that counts them.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";
import { markState, stream } from "./stream.js";

const keep = 100; // rows; older ones are a page away
let current = null;

export function liveRuns(root) {
  const list = root.matches?.("[data-live-runs]") ? root : root.querySelector("[data-live-runs]");
  if (!list) {
    if (root.querySelector?.("[data-results]") || root.matches?.("[data-results]")) current?.end();
    return;
  }
  current?.end();
  const body = list.querySelector("tbody");
  const more = list.querySelector("[data-new-rows]");
  const waiting = new Map();

  const parse = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.querySelector("tr");
  };
  const insert = (row) => {
    const id = Number(row.dataset.id);
    const before = [...body.rows].find((other) => Number(other.dataset.id) < id);
    row.classList.add("fresh");
    body.insertBefore(row, before ?? null);
    htmx.process(row);
    while (body.rows.length > keep) body.rows[body.rows.length - 1].remove();
  };
  const showWaiting = () => {
    more.hidden = waiting.size === 0;
    more.querySelector("[data-new-text]").textContent = more.dataset.text.replace("{N}", waiting.size);
  };
  const busy = () => list.getBoundingClientRect().top < 0 || list.querySelector("details[open]") || document.querySelector("dialog[open]");
  const reload = () => htmx.ajax("GET", location.pathname + location.search, { target: "#results", swap: "outerHTML" });

  more.addEventListener("click", () => {
    const rows = [...waiting.values()];
    waiting.clear();
    showWaiting();
    rows.forEach(insert);
    scrollTo({ top: 0, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
  });
  current = stream({
    address: () => list.dataset.liveRuns,
    onState: (state) => markState(list.ownerDocument.querySelector("[data-live-mark]"), state),
    onReturn: reload,
    events: {
      run: (event) => {
        const row = parse(event.data);
        if (!row) return;
        const shown = document.getElementById(row.id);
        if (shown) Idiomorph.morph(shown, row);
        else if (waiting.has(row.id) || busy()) waiting.set(row.id, row), showWaiting();
        else if (body) insert(row);
        else reload(); // the list was empty until now, so there is no table to put it in
      },
      reset: reload,
    },
  });
}
