// A run's output. It follows the end while the reader is at the end, lets go as soon as they scroll up, and goes on at
// the next line after a lost connection. The same stream brings the run's state.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";
import { finder } from "./find.js";
import { stream } from "./stream.js";

const keep = 20000; // lines in the page while it follows; the download has them all
const most = 2 * keep; // while somebody reads further up, from whom no line is taken away so soon

export function logViewers(root) {
  if (root.matches?.("[data-log]")) open(root); // beside the script editor it comes by itself
  for (const viewer of root.querySelectorAll("[data-log]")) open(viewer);
}

function open(viewer) {
  const box = viewer.querySelector("[data-log-lines]");
  const list = box.querySelector("ol");
  const empty = box.querySelector("[data-log-empty]");
  const cut = box.querySelector("[data-log-cut]");
  const note = viewer.querySelector("[data-log-note]");
  const jump = viewer.querySelector("[data-follow]");
  const wrap = viewer.querySelector("[data-wrap]");
  const copy = viewer.querySelector("[data-copy]");
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
    if (on) toEnd();
  };
  box.addEventListener("scroll", () => {
    if (Math.abs(box.scrollTop - last) < 1) return;
    if (following) {
      if (scrolledUp()) follow(false);
    } else if (atEnd()) {
      follow(true);
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
  const find = finder(viewer, box, list, letGo, () => live && following);

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
  // The clipboard exists only on https and localhost.
  copy.hidden = !navigator.clipboard;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText([...list.children].map((line) => line.textContent).join("\n"));
    copy.classList.add("copied");
    setTimeout(() => copy.classList.remove("copied"), 1200);
  });
  follow(true);

  // What no longer fits goes from the top, and the page says how much that is.
  const trim = () => {
    const over = list.children.length - (following ? keep : most);
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
  };

  if (!viewer.dataset.events) return;
  // Lines wait while drawing keeps the browser busy, so that what would be cut off at once is never drawn.
  let fresh = [];
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
    if (following) toEnd();
    cost = performance.now() - began;
  };
  const events = stream({
    address: () => {
      const url = new URL(viewer.dataset.events, location.href);
      url.searchParams.set("from", next);
      return url.href;
    },
    events: {
      log: (event) => {
        const template = document.createElement("template");
        template.innerHTML = event.data;
        for (const line of template.content.querySelectorAll("li")) {
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
        for (const part of new DOMParser().parseFromString(event.data, "text/html").querySelectorAll("[data-part]")) {
          const shown = document.getElementById(part.id);
          if (shown) htmx.process(Idiomorph.morph(shown, part)[0] ?? shown);
        }
      },
      end: () => {
        events.end();
        live = false;
        const waiting = empty?.querySelector("[data-ended-text]");
        if (waiting) waiting.textContent = note.textContent.trim() || waiting.dataset.endedText; // what was said of it last
        if (waiting) note.hidden = true;
      },
    },
  });
}
