// A run's output. It follows the end while the reader is at the end, lets go as soon as they scroll up, and goes on at
// the next line after a lost connection. The same stream brings the run's state.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";
import { markState, stream } from "./stream.js";

const keep = 20000; // lines in the page; the download has them all

export function logViewers(root) {
  for (const viewer of root.querySelectorAll("[data-log]")) open(viewer);
}

function open(viewer) {
  const box = viewer.querySelector("[data-log-lines]");
  const list = box.querySelector("ol");
  const empty = box.querySelector("[data-log-empty]");
  const jump = viewer.querySelector("[data-follow]");
  const wrap = viewer.querySelector("[data-wrap]");
  const copy = viewer.querySelector("[data-copy]");
  let next = Number(viewer.dataset.next) || 1;
  let following = true;
  let last = 0; // where the box stood; the script only ever moves it down, so up is the reader's doing

  const toEnd = () => {
    box.scrollTop = box.scrollHeight;
    last = box.scrollTop;
  };
  const atEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < 24;
  const follow = (on) => {
    following = on;
    jump.hidden = on;
    if (on) toEnd();
  };
  box.addEventListener("scroll", () => {
    const up = box.scrollTop < last;
    last = box.scrollTop;
    if (atEnd()) {
      if (!following) follow(true);
    } else if (up && following) {
      follow(false);
    }
  });
  jump.querySelector("button").addEventListener("click", () => follow(true));

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
  if (!navigator.clipboard) copy.hidden = true;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText([...list.children].map((line) => line.textContent).join("\n"));
    copy.classList.add("copied");
    setTimeout(() => copy.classList.remove("copied"), 1200);
  });
  follow(true);

  if (!viewer.dataset.events) return;
  const mark = viewer.querySelector("[data-live-mark]");
  const events = stream({
    address: () => {
      const url = new URL(viewer.dataset.events, location.href);
      url.searchParams.set("from", next);
      return url.href;
    },
    onState: (state) => markState(mark, state),
    events: {
      log: (event) => {
        const template = document.createElement("template");
        template.innerHTML = event.data;
        for (const line of template.content.querySelectorAll("li")) {
          if (line.value < next) continue; // sent twice around a reconnect
          next = line.value + 1;
          list.append(line);
        }
        next = Math.max(next, Number(event.lastEventId) || 0);
        if (list.children.length && empty) empty.hidden = true;
        // The reader may have scrolled up so lately that its event is still to come.
        if (following && box.scrollTop < last - 24) follow(false);
        while (list.children.length > keep) list.firstElementChild.remove();
        if (following) toEnd();
      },
      state: (event) => {
        for (const part of new DOMParser().parseFromString(event.data, "text/html").querySelectorAll("[data-part]")) {
          const shown = document.getElementById(part.id);
          if (shown) htmx.process(Idiomorph.morph(shown, part)[0] ?? shown);
        }
      },
      end: () => {
        events.end();
        if (mark) mark.hidden = true;
        const waiting = empty?.querySelector("[data-ended-text]");
        if (waiting) waiting.textContent = waiting.dataset.endedText;
      },
    },
  });
}
