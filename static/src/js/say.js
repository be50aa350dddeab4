// What a page says to those who do not see it change: politely, or at once for what they must not miss.
const stays = 10000; // ms until a text is taken away again, so that nobody comes upon it later
const calm = 15000; // ms between two counts of new rows
const clearings = new Map();

export function say(text, atOnce = false) {
  const box = document.getElementById(atOnce ? "said-at-once" : "said");
  if (!box || !text) return;
  // The same words once more are a change only if they differ.
  box.textContent = box.textContent === text ? text + "\u00a0" : text;
  clearTimeout(clearings.get(box));
  clearings.set(box, setTimeout(() => (box.textContent = ""), stays));
}

const rows = new Set(); // of the list that is shown, those that were counted or were there before
let many = 0;
let timer = 0;
let last = -Infinity;
const idsIn = (list) => [...list.querySelectorAll("tr[id]")].map((row) => row.id);

// known says that the rows of a list are not new; anew, of another list than before.
export function known(list, anew) {
  if (anew) {
    rows.clear();
    clearTimeout(timer);
    timer = many = 0;
  }
  for (const id of idsIn(list)) rows.add(id);
}

// arrived counts the rows that were not there before, and says how many they are, not which.
export function arrived(list) {
  const fresh = idsIn(list).filter((id) => !rows.has(id));
  if (!fresh.length) return;
  for (const id of fresh) rows.add(id);
  many += fresh.length;
  timer ||= setTimeout(() => {
    say(document.querySelector("[data-live-mark]")?.dataset.saidNew.replace("{N}", many.toLocaleString(document.documentElement.lang)));
    timer = many = 0;
    last = performance.now();
  }, Math.max(1000, last + calm - performance.now()));
}
