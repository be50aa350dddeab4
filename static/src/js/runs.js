// The run list while it is open: changed rows change in place, new ones come in on top. Whoever has scrolled down, or is
// busy in the table with the pointer or the keyboard, is not disturbed: a button counts the new rows until they are wanted.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";
import { arrived, known, say } from "./say.js";
import { stream } from "./stream.js";

const calm = 5000; // ms after which a pointer that rests on the list disturbs nobody
const pace = 2000; // ms between two times of drawing anew
let current = null;

export function liveRuns(root) {
  const list = root.matches?.("[data-live-runs]") ? root : root.querySelector("[data-live-runs]");
  if (!list) {
    if (root.querySelector?.("[data-results]") || root.matches?.("[data-results]")) current?.end();
    return;
  }
  current?.end();
  const waiting = new Set(); // ids of the rows behind the button
  let many = false; // more of them than a page holds, so that nobody has counted
  let pointed = 0; // when the pointer last moved over the rows
  let drawn = 0;
  let timer = 0;
  let asked = null; // the answer that is on its way
  let late = []; // what came since it was asked for, of which it may not know

  const rows = () => [...list.querySelectorAll("tbody > tr")];
  const keep = Math.max(100, 2 * rows().length); // beyond them the list is drawn anew, with older ones a page away
  const touched = () => (pointed = Date.now());
  list.addEventListener("pointermove", touched);
  list.addEventListener("pointerdown", touched);
  const selecting = () => {
    const selection = getSelection();
    return !selection.isCollapsed && list.contains(selection.anchorNode);
  };
  const busy = () =>
    list.getBoundingClientRect().top < 0 || Date.now() - pointed < calm || list.contains(document.activeElement) || list.querySelector(".pick:checked") || document.querySelector("dialog[open]") || selecting();

  const showWaiting = () => {
    const more = list.querySelector("[data-new-rows]");
    more.hidden = !many && waiting.size === 0;
    more.querySelector("[data-new-text]").textContent = many ? more.dataset.many : more.dataset.text.replace("{N}", waiting.size);
  };
  const settled = () => htmx.trigger(list, "htmx:afterSettle", { elt: list, target: list });
  // refresh draws the list anew where it stands: its rows, and the pages before and after. The row that has the focus keeps it.
  const refresh = () => (asked ??= anew().finally(() => (asked = null)));
  // refocus gives the focus to what is in the place of that which had it: Enter may follow at once. If nothing is, the row keeps it.
  const refocus = (row, held) => ([...row.querySelectorAll("a, input")].find((e) => e.href === held.href && e.type === held.type) ?? row.querySelector("a"))?.focus({ preventScroll: true });
  const anew = async () => {
    late = [];
    clearTimeout(timer);
    timer = 0;
    drawn = Date.now();
    const at = location.search;
    const answer = await fetch(location.pathname + at, { headers: { "HX-Request": "true", "Punctual-Live": "1" } }).catch(() => null);
    if (!answer?.ok || !list.isConnected || location.search !== at) return;
    const template = document.createElement("template");
    template.innerHTML = await answer.text();
    const fresh = template.content.querySelector("#results");
    if (!fresh) return location.reload(); // the session has ended
    const held = document.activeElement;
    const holder = list.contains(held) && held.closest("tr")?.id;
    list.replaceChildren(...fresh.childNodes);
    htmx.process(list);
    waiting.clear();
    many = false;
    arrived(list);
    settled();
    for (const again of late) again();
    const row = holder && document.getElementById(holder);
    if (!row) return;
    row.classList.add("current");
    refocus(row, held);
  };
  const unlessBusy = () => {
    timer = 0;
    many ||= waiting.size === 0;
    if (busy() && rows().length) showWaiting();
    else refresh();
  };
  const refreshSoon = () => (timer ||= setTimeout(unlessBusy, Math.max(0, drawn + pace - Date.now())));

  const change = (shown, row) => {
    for (const name of ["current", "fresh"]) row.classList.toggle(name, shown.classList.contains(name));
    const held = document.activeElement;
    const within = shown.contains(held);
    const box = row.querySelector(".pick");
    if (box) box.checked = Boolean(shown.querySelector(".pick:checked"));
    Idiomorph.morph(shown, row);
    htmx.process(shown);
    if (within && !shown.contains(document.activeElement)) refocus(shown, held);
  };
  const insert = (row) => {
    const body = list.querySelector("tbody");
    if (!body || body.rows.length >= keep) return refreshSoon();
    const before = rows().find((other) => Number(other.dataset.id) < Number(row.dataset.id));
    row.classList.add("fresh");
    body.insertBefore(row, before ?? null);
    htmx.process(row);
  };
  const remove = (id) => {
    waiting.delete(id);
    const row = document.getElementById(id);
    if (!row) return;
    const beside = row.nextElementSibling ?? row.previousElementSibling;
    if (row.contains(document.activeElement)) beside?.querySelector("a")?.focus({ preventScroll: true });
    if (row.classList.contains("current")) beside?.classList.add("current");
    row.remove();
    if (!beside) refreshSoon();
  };

  list.addEventListener("click", async (event) => {
    if (!event.target.closest("[data-new-rows] button")) return;
    const keyboard = event.detail === 0;
    await refresh();
    pointed = 0;
    scrollTo({ top: 0, behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
    if (keyboard) list.querySelector("tbody a")?.focus({ preventScroll: true });
  });
  // kept has what comes while an answer is on its way done once more on what that brings.
  const kept = (events) => {
    const both = (handle) => (event) => {
      if (asked) late.push(() => handle(event));
      handle(event);
    };
    return Object.fromEntries(Object.entries(events).map(([name, handle]) => [name, both(handle)]));
  };
  // An ended run is none of the newest any more: it changes where it is shown, and is not new where it is not.
  const take = (event) => {
    const template = document.createElement("template");
    template.innerHTML = event.data;
    const row = template.content.querySelector("tr");
    if (!row) return;
    const shown = document.getElementById(row.id);
    if (shown) return change(shown, row);
    if (event.type === "ended") return;
    arrived(template.content);
    if (busy()) {
      waiting.add(row.id);
      showWaiting();
    } else if (waiting.size || many) refreshSoon();
    else insert(row);
  };
  known(list, true);
  current = stream({
    address: () => list.dataset.liveRuns,
    onReturn: unlessBusy,
    events: kept({
      run: take,
      ended: take,
      // Rows that were deleted, or do not fit the filter any more.
      gone: (event) => {
        for (const id of event.data.trim().split(" ")) remove("run-" + id);
        showWaiting();
        settled();
      },
      // More new rows at once than a page holds: a few of them would hide that others are missing.
      many: () => {
        if (!busy()) return refreshSoon();
        if (!many) say(list.querySelector("[data-new-rows]").dataset.many);
        many = true;
        showWaiting();
      },
    }),
  });
}
