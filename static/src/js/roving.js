// A picture of steps or jobs, and a table of hours, is one stop of the tabulator key. From there arrow keys lead to the next box in their direction, Home and End to the
// first and the last. Without this script each box is a stop.
const boxes = (svg) => [...svg.querySelectorAll("a[href]")];
let last = ""; // the box that had the focus

const set = (element, tabindex) => element?.getAttribute("tabindex") !== tabindex && element?.setAttribute("tabindex", tabindex);

// The box that had the focus last, or the first, is the stop. What scrolls around the boxes is none: it follows the focus.
function stops() {
  for (const svg of document.querySelectorAll("svg.flow")) {
    const all = boxes(svg);
    const stop = all.find((box) => box.id === last) ?? all[0];
    for (const box of all) set(box, box === stop ? "0" : "-1");
    if (stop) set(svg.closest(".flow-picture"), "-1");
  }
  for (const table of document.querySelectorAll("table.heat")) {
    const all = [...table.querySelectorAll("tbody a")];
    const stop = all.find((cell) => cell.href === last) ?? table.querySelector("a.cell[tabindex='0']") ?? all[0];
    for (const cell of all) set(cell, cell === stop ? "0" : "-1");
    if (stop) set(table.parentElement, "-1");
  }
}

const middle = (box) => {
  const at = box.getBoundingClientRect();
  return [at.x + at.width / 2, at.y + at.height / 2];
};
// The way in a direction, as its axis and its sign.
const ways = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 1], ArrowUp: [1, -1] };

function next(all, from, key) {
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  const [axis, sign] = ways[key];
  const here = middle(from);
  let best;
  let least = Infinity;
  for (const box of all) {
    const there = middle(box);
    const ahead = (there[axis] - here[axis]) * sign;
    const cost = ahead + 2 * Math.abs(there[1 - axis] - here[1 - axis]);
    if (ahead > 1 && cost < least) [best, least] = [box, cost];
  }
  return best;
}

// The hours of a table and the day before them.
const cells = "table.heat tbody a";

function walkCells(from, key) {
  const [axis, sign] = ways[key];
  const { parentElement: row, cellIndex } = from.parentElement;
  const { rows } = row.parentElement;
  for (let at = row.sectionRowIndex, column = cellIndex; ; ) {
    if (axis) at += sign;
    else column += sign;
    const there = rows[at]?.cells[column];
    const to = there?.querySelector("a");
    if (to || !there) return to;
  }
}

document.addEventListener("keydown", (event) => {
  const from = event.target.closest(`svg.flow a[href], ${cells}`);
  const svg = from?.closest("svg.flow");
  if (!from || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !(event.key in ways || (svg && (event.key === "Home" || event.key === "End")))) return;
  event.preventDefault(); // also where there is no further box: the page does not move by the key that moves the focus
  (svg ? next(boxes(svg), from, event.key) : walkCells(from, event.key))?.focus();
});
document.addEventListener("focusin", (event) => {
  const box = event.target.closest(`svg.flow a[href], ${cells}`);
  if (!box) return;
  last = box.id || box.href;
  stops();
});
// Pictures are drawn anew while somebody edits and while a run goes on.
new MutationObserver(stops).observe(document.body, { subtree: true, childList: true, attributeFilter: ["tabindex", "href"] });
stops();
