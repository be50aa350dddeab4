// Search in a run's output, also while it grows: what is found is coloured and counted, Enter and Shift+Enter walk through
// it. Typing moves the view only when nothing of what is found is in sight, and never from an end that lines come to; walking always
// does, and lets go of the end.
const pause = 120; // ms without a key before a search
const most = 10000; // places; who finds more looks for something else

// The browser paints places without a change to the lines. One that cannot still marks the line of the current place.
const paint = (name) => {
  if (!window.CSS?.highlights || !window.Highlight) return new Set();
  if (!CSS.highlights.has(name)) CSS.highlights.set(name, new Highlight());
  return CSS.highlights.get(name);
};

export function finder(viewer, box, list, { letGo, shown, stays, at: atLine }) {
  const bar = viewer.querySelector("[data-find]");
  const field = bar.querySelector("input");
  const count = bar.querySelector("[data-find-count]");
  const exact = bar.querySelector("[data-find-case]");
  const steps = [...bar.querySelectorAll("[data-find-step]")];
  const found = paint("found");
  const now = paint("found-now");
  let pattern = null;
  let places = []; // static ranges, which cost nothing while lines come and go, in the order of the lines
  let current = -1;
  let marked = null; // the line of the current place
  let timer = 0;

  // search adds the places of one line. Its text may lie in several nodes, because parts of it are coloured.
  const search = (line) => {
    if (!shown(line)) return;
    const nodes = [];
    let text = "";
    for (const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT); walk.nextNode(); ) {
      nodes.push({ node: walk.currentNode, at: text.length });
      text += walk.currentNode.data;
    }
    for (const hit of text.matchAll(pattern)) {
      if (places.length >= most) return;
      const after = hit.index + hit[0].length;
      const begin = nodes.findLast(({ at }) => at <= hit.index);
      const end = nodes.findLast(({ at }) => at < after);
      const place = new StaticRange({ startContainer: begin.node, startOffset: hit.index - begin.at, endContainer: end.node, endOffset: after - end.at });
      places.push(place);
      found.add(place);
    }
  };
  const show = () => {
    const number = (n) => n.toLocaleString(document.documentElement.lang);
    const all = number(places.length) + (places.length >= most ? "+" : "");
    if (!pattern) count.textContent = "";
    else count.textContent = places.length ? bar.dataset.count.replace("{I}", current < 0 ? "–" : number(current + 1)).replace("{N}", all) : bar.dataset.none;
    bar.classList.toggle("none", Boolean(pattern) && !places.length);
    for (const b of steps) b.disabled = !places.length;
  };
  const mark = (at) => {
    marked?.classList.remove("found");
    marked = null;
    now.clear();
    current = at;
    if (at < 0) return;
    now.add(places[at]);
    marked = places[at].startContainer.parentElement.closest("li");
    marked.classList.add("found");
  };
  const bounds = (place) => {
    const range = new Range();
    range.setStart(place.startContainer, place.startOffset);
    range.setEnd(place.endContainer, place.endOffset);
    return range.getBoundingClientRect();
  };
  const inSight = (at) => {
    const { top, bottom } = bounds(places[at]);
    const frame = box.getBoundingClientRect();
    return top >= frame.top && bottom <= frame.bottom;
  };
  const goTo = (at) => {
    mark(at);
    const frame = box.getBoundingClientRect();
    if (!inSight(at)) box.scrollTop += bounds(places[at]).top - frame.top - box.clientHeight / 2;
    const { left, right } = bounds(places[at]);
    if (left < frame.left + 60 || right > frame.right) box.scrollLeft += left - frame.left - box.clientWidth / 3;
    letGo();
    atLine(marked);
    show();
  };
  // nearest is the last place that is not below the view, or else the first of all.
  const nearest = () => {
    const { bottom } = box.getBoundingClientRect();
    return Math.max(0, places.findLastIndex((p) => bounds(p).bottom <= bottom));
  };
  const restart = () => {
    clearTimeout(timer);
    timer = 0;
    for (const p of places) found.delete(p);
    places = [];
    mark(-1);
    const literal = field.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    pattern = literal && new RegExp(literal, exact.ariaPressed === "true" ? "g" : "gi");
    if (pattern) for (const line of list.children) search(line);
    if (places.length) {
      const at = nearest();
      if (stays() || inSight(at)) mark(at);
      else goTo(at);
    }
    show();
  };
  const step = (by) => {
    if (timer) {
      restart(); // Enter came before the pause was over
      if (current >= 0) goTo(current);
    } else if (places.length) goTo(current < 0 ? nearest() : (current + by + places.length) % places.length);
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(restart, pause);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter") {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      field.value = "";
      restart();
      box.focus({ preventScroll: true });
    }
  });
  exact.addEventListener("click", () => {
    exact.ariaPressed = String(exact.ariaPressed !== "true");
    restart();
  });
  for (const b of steps) b.addEventListener("click", () => step(Number(b.dataset.findStep)));
  // Inside the output the browser's own search key is ours; pressed again in our field it is the browser's.
  viewer.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "f" || event.target === field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  bar.hidden = false;
  show();

  return {
    again() {
      if (pattern) restart();
    },
    added(lines) {
      if (!pattern || !lines.length) return;
      for (const line of lines) search(line);
      show();
    },
    trimmed() {
      const first = places.findIndex((p) => p.startContainer.isConnected);
      const gone = places.splice(0, first < 0 ? places.length : first);
      for (const p of gone) found.delete(p);
      if (!gone.length) return;
      mark(Math.max(-1, current - gone.length));
      show();
    },
  };
}
