// The job list drawn anew: rows change in place, and what is picked, open, in focus or under the cursor of the keys stays. Rows
// that come or go wait while somebody is at work in the list.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";

// The script's own doings on a page are nothing the server knows: the page's mark, the boxes, the schedules in words, what somebody types ([data-kept]); what is open, and
// the classes of some elements.
export const callbacks = (kept) => ({
  beforeNodeMorphed: (old, fresh) => !(old.nodeType === 1 && (old.matches("[data-live-mark], [data-kept], .pick") || (old.matches("[data-cron]") && old.dataset.cron === fresh.dataset?.cron))),
  beforeAttributeUpdated: (name, node) => name !== "open" && !(name === "class" && node.matches(kept)),
});
const rows = (list) => [...list.querySelectorAll("tbody tr")];
const ids = (list) => rows(list).map((row) => row.id).join();
const busy = (list) => list.querySelector("details[open], .pick:checked") || list.contains(document.activeElement) || document.querySelector("dialog[open]");

export function drawJobs(list, fresh) {
  if (list.querySelector(".htmx-request")) return; // a row is being switched
  if (ids(list) === ids(fresh) || busy(list)) {
    const now = new Map(rows(fresh).map((row) => [row.id, row]));
    for (const row of rows(list).filter((row) => now.has(row.id))) {
      Idiomorph.morph(row, now.get(row.id), { callbacks: callbacks("tr, .menu-list") });
      htmx.process(row);
    }
  } else {
    list.replaceWith(fresh);
    htmx.process(fresh);
    htmx.trigger(fresh, "htmx:load", { elt: fresh });
    htmx.trigger(fresh, "htmx:afterSettle", { elt: fresh, target: fresh });
  }
}
