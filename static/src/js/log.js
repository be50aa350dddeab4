// A run's output. It follows the end while the reader is at the end, lets go as soon as they scroll up, and goes on at
// the next line after a lost connection. The same stream brings the run's state. However long it is, the page holds a window of it:
// further up are the earlier lines, one click away, and what comes while somebody reads waits as text.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";
import { colours } from "./colours.js";
import { copies } from "./copy.js";
import { finder } from "./find.js";
import { say } from "./say.js";
import { stream } from "./stream.js";

const keep = 6000; // lines in the page while it follows; the download has them all
const most = 2 * keep; // while somebody reads further up, from whom no line is taken away so soon
const hides = { e: ":not(.e)", w: ":not(.e, .w)", i: ".d" }; // the lines that each choice of a level leaves out, as in the style sheet

export function logViewers(root) {
  if (!document.querySelector("[data-log]")) current = current?.end(); // what stood beside the editor has gone
  if (root.matches?.("[data-log]")) open(root); // beside the script editor it comes by itself
  for (const viewer of root.querySelectorAll("[data-log]")) open(viewer);
}

let current; // the stream of the output that is shown

function open(viewer) {
  current = current?.end();
  const box = viewer.querySelector("[data-log-lines]");
  const list = box.querySelector("ol");
  const empty = box.querySelector("[data-log-empty]");
  const cut = box.querySelector("[data-log-cut]");
  const note = viewer.querySelector("[data-log-note]");
  const jump = viewer.querySelector("[data-follow]");
  const wrap = viewer.querySelector("[data-wrap]");
  const choice = viewer.querySelector("[data-levels]");
  const none = box.querySelector("[data-log-none]");
  let next = Number(viewer.dataset.next) || 1;
  let following = true;
  let live = Boolean(viewer.dataset.events); // lines may still come
  let last = 0; // where the box was left
  let shape = ""; // its sizes at that time

  const sizes = () => [box.clientWidth, box.clientHeight, box.scrollHeight].join();
  const toEnd = () => {
    box.scrollTop = box.scrollHeight;
    last = box.scrollTop;
    shape = sizes();
  };
  const atEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < 24;
  // Only the reader lets go of the end: the box stands further up than it was left, and has the sizes that it had. In one that has
  // grown, shrunk or wrapped its lines anew, it was the browser that set the position.
  const scrolledUp = () => box.scrollTop < last - 1 && !atEnd() && shape === sizes();
  const follow = (on) => {
    following = on;
    jump.hidden = on;
    if (on) catchUp();
    if (on) toEnd();
  };
  box.addEventListener("scroll", () => {
    if (Math.abs(box.scrollTop - last) < 1) return;
    if (following) {
      if (scrolledUp()) follow(false);
    } else if (atEnd()) {
      if (waiting.length) more();
      else follow(true);
    }
    last = box.scrollTop;
  });
  const resized = new ResizeObserver(() => following && toEnd());
  resized.observe(box);
  resized.observe(list);
  jump.querySelector("button").addEventListener("click", () => {
    follow(true);
    box.focus({ preventScroll: true });
  });

  const letGo = () => {
    last = box.scrollTop;
    follow(false);
  };
  const shown = (line) => !choice.value || !line.matches(hides[choice.value]);
  const find = finder(viewer, box, list, { letGo, shown, stays: () => live && following, at: (line) => onPage && name(line) });
  const checkNone = () => (none.hidden = !choice.value || !list.children.length || Boolean(list.querySelector(`li:not(${hides[choice.value]})`)));
  choice.hidden = false;
  choice.addEventListener("change", () => {
    box.dataset.only = choice.value;
    checkNone();
    find.again();
    if (following) toEnd();
  });

  // A line has an address: its number leads to it and puts it into the page's own.
  const onPage = Boolean(viewer.closest(".run"));
  let linked = null;
  const mark = (line) => {
    linked?.classList.remove("linked");
    linked = line;
    line.classList.add("linked");
  };
  const name = (line) => history.replaceState(history.state, "", "#L" + line.value);
  const wanted = () => (onPage && Number(/^#L(\d+)$/.exec(location.hash)?.[1])) || 0;
  const goToLine = () => {
    const n = wanted();
    if (!n) return false;
    const line = document.getElementById("L" + n);
    if (line) {
      if (!shown(line)) {
        choice.value = box.dataset.only = "";
        none.hidden = true;
      }
      mark(line);
      letGo();
      box.scrollTop += line.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
      letGo();
      return true;
    }
    const there = new URL(location.href);
    if (there.searchParams.get("line") === String(n)) return false; // the server knows of no such line
    there.searchParams.set("line", n);
    location.replace(there);
    return true;
  };
  list.addEventListener("click", (event) => {
    const line = event.target.closest("li");
    if (!onPage || event.target !== line || event.clientX > line.firstElementChild.getBoundingClientRect().left) return;
    mark(line);
    name(line);
  });
  if (onPage) window.addEventListener("hashchange", goToLine);
  if (onPage) document.addEventListener("click", (event) => {
    // The same address once more is no change of it.
    if (event.target.closest?.('a[href^="#L"]')?.hash === location.hash) goToLine();
  });
  colours();

  const setWrap = (on) => {
    box.classList.toggle("wrap", on);
    wrap.setAttribute("aria-pressed", on);
    if (following) toEnd();
  };
  const remembered = () => {
    try {
      return localStorage.getItem("log-wrap");
    } catch {
      return null; // storage may be forbidden
    }
  };
  wrap.hidden = false;
  setWrap((remembered() ?? "1") === "1");
  wrap.addEventListener("click", () => {
    const on = !box.classList.contains("wrap");
    setWrap(on);
    try {
      localStorage.setItem("log-wrap", on ? "1" : "0");
    } catch {
      // then it is not remembered
    }
  });
  copies(viewer.querySelector(".copy"), () => [...list.children].filter(shown).map((line) => line.textContent).join("\n"));

  // What no longer fits goes from the top, and the page says how much that is. From somebody who reads, it goes only for the lines
  // that they came down for.
  const trim = () => {
    const over = list.children.length - (following ? keep : down ? most : Infinity);
    if (over > 0) {
      const gone = document.createRange();
      gone.setStartBefore(list.firstElementChild);
      gone.setEndBefore(list.children[over]);
      gone.deleteContents();
      find.trimmed();
    }
    const first = list.firstElementChild?.value ?? 1;
    if (first === 1) return;
    cut.hidden = false;
    cut.querySelector("[data-text]").textContent = cut.dataset.text.replace("{N}", first.toLocaleString(document.documentElement.lang));
    const earlier = cut.querySelector("[data-log-earlier]");
    earlier.href = earlier.href.replace(/\d+#L\d+$/, `${first - 1}#L${first - 1}`);
  };
  // Lines wait while drawing keeps the browser busy, so that what would be cut off at once is never drawn, and, as text, while
  // somebody reads and the window is full.
  let fresh = [];
  let waiting = [];
  let down = false; // somebody who reads has come to the end of the window
  let timer = 0;
  let cost = 0; // ms that drawing took last
  const draw = () => {
    const began = performance.now();
    timer = 0;
    if (following && scrolledUp()) follow(false); // so lately that the event is still to come
    if (following) fresh = fresh.slice(-keep);
    list.append(...fresh);
    find.added(fresh);
    fresh = [];
    if (list.children.length && empty) empty.hidden = true;
    trim();
    checkNone();
    if (following) toEnd();
    cost = performance.now() - began;
  };
  const linesOf = (text) => {
    const template = document.createElement("template");
    template.innerHTML = text;
    return [...template.content.querySelectorAll("li")];
  };
  const more = () => {
    fresh.push(...linesOf(waiting.shift()));
    down = true;
    draw();
    down = false;
  };
  // catchUp goes to the end over what waits: only so much of it is drawn as the window holds.
  const catchUp = () => {
    if (!waiting.length) return;
    const lines = [];
    while (waiting.length && lines.length < keep) lines.unshift(...linesOf(waiting.pop()));
    if (waiting.length) {
      waiting = [];
      list.replaceChildren();
      find.trimmed();
    }
    fresh.unshift(...lines);
    draw();
  };
  if (!goToLine()) follow(true);
  if (!viewer.dataset.events) return;
  const events = (current = stream({
    address: () => {
      const url = new URL(viewer.dataset.events, location.href);
      url.searchParams.set("from", next);
      return url.href;
    },
    events: {
      log: (event) => {
        if (waiting.length || (!following && list.children.length + fresh.length >= most)) {
          const end = Number(event.lastEventId) || 0;
          if (end <= next) return; // sent twice
          waiting.push(event.data);
          next = end;
          return;
        }
        for (const line of linesOf(event.data)) {
          if (line.value < next) continue; // sent twice around a reconnect
          next = line.value + 1;
          fresh.push(line);
        }
        next = Math.max(next, Number(event.lastEventId) || 0);
        timer ||= setTimeout(draw, Math.min(3 * cost, 1000));
      },
      note: (event) => {
        note.hidden = event.data === "";
        note.querySelector("span").textContent = new DOMParser().parseFromString(event.data, "text/html").body.textContent;
      },
      state: (event) => {
        const over = () => document.getElementById("run-head")?.dataset.over;
        const before = over();
        for (const part of new DOMParser().parseFromString(event.data, "text/html").querySelectorAll("[data-part]")) {
          const shown = document.getElementById(part.id);
          if (shown) htmx.process(Idiomorph.morph(shown, part)[0] ?? shown);
        }
        if (!before) say(over());
      },
      end: () => {
        events.end();
        live = false;
        const waiting = empty?.querySelector("[data-ended-text]");
        if (waiting) waiting.textContent = note.textContent.trim() || waiting.dataset.endedText; // what was said of it last
        if (waiting) note.hidden = true;
      },
    },
  }));
}
