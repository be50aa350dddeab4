// Messages about what was done go away by themselves; errors stay until they are closed.
// What can be taken back stays for as long as it takes to read it and to think.
const stay = (toast) => (toast.querySelector(".undo") ? 12000 : 6000);

// Where messages may lie, the most liked first: see messages.css. Where every edge has something to press, as among the
// cards of a phone, there is room higher up, between them.
const places = [["end", 0], ["middle", 0], ["start", 0], ["top", 0], ["end", 48], ["end", 96], ["end", 144], ["end", 192], ["end", 240]];
const pressable = "a[href], button, input, select, textarea, summary, [contenteditable=true]";

// How much lies under the messages that somebody may want to press next: a whole button counts one, a strip of a big
// field little.
function covers(box) {
  const over = box.getBoundingClientRect();
  let sum = 0;
  for (const one of document.querySelectorAll(pressable)) {
    const is = one.getBoundingClientRect();
    const left = Math.max(is.left, over.left), top = Math.max(is.top, over.top);
    const width = Math.min(is.right, over.right) - left, height = Math.min(is.bottom, over.bottom) - top;
    if (width <= 0 || height <= 0 || box.contains(one)) continue;
    // What is scrolled out of its box, or lies outside an open dialog, is not there to be pressed.
    if (document.elementsFromPoint(left + width / 2, top + height / 2).includes(one)) sum += (width * height) / (is.width * is.height);
  }
  return sum;
}

// Moves the messages to where they cover least, unless somebody is at them or little would be won.
function makeWay(box) {
  if (!box.querySelector(".toast") || box.matches(":hover, :focus-within")) return;
  const lie = ([at, lift]) => {
    box.dataset.place = at;
    box.style.translate = lift ? `0 ${-lift}px` : "";
  };
  let best = box.place ?? places[0];
  lie(best);
  let least = covers(box) - 0.1;
  for (const place of places) {
    if (least <= 0) break;
    lie(place);
    const sum = covers(box);
    if (sum < least) [best, least] = [place, sum];
  }
  lie((box.place = best));
}

export function toasts() {
  const box = document.getElementById("toasts");
  if (!box) return;
  const leave = (toast) => {
    toast.classList.add("leaving");
    setTimeout(() => toast.remove(), 250);
  };
  const arm = (toast) => {
    if (toast.dataset.armed || toast.classList.contains("error")) return;
    toast.dataset.armed = "1";
    let timer = setTimeout(leave, stay(toast), toast);
    toast.addEventListener("pointerenter", () => clearTimeout(timer));
    toast.addEventListener("pointerleave", () => (timer = setTimeout(leave, stay(toast), toast)));
  };
  box.addEventListener("click", (event) => {
    if (event.target.closest("[data-dismiss]")) leave(event.target.closest(".toast"));
  });
  // What was taken back need not be said any more.
  box.addEventListener("htmx:afterRequest", (event) => {
    const undone = event.detail.successful && event.target.closest(".undo");
    if (undone) leave(undone.closest(".toast"));
  });
  // What is said once more replaces what was said before.
  const once = () => {
    const said = new Set();
    for (const toast of [...box.querySelectorAll(".toast")].reverse()) {
      if (said.has(toast.textContent)) toast.remove();
      said.add(toast.textContent);
    }
  };
  // Nothing beside an open dialog can be clicked or is read aloud, so the messages move into it.
  const dialog = document.getElementById("dialog");
  const settle = () => {
    const home = dialog?.open ? dialog : document.body;
    if (box.parentElement !== home) home.append(box);
    makeWay(box);
  };
  new MutationObserver(() => {
    once();
    if (box.childElementCount) settle();
    else delete box.place;
    box.querySelectorAll(".toast").forEach(arm);
  }).observe(box, { childList: true });
  if (dialog) {
    // A dialog that closes or gets another content takes nothing with it.
    document.addEventListener("htmx:beforeSwap", (event) => event.detail.target === dialog && document.body.append(box));
    dialog.addEventListener("close", settle);
  }
  // What comes later may come to lie under a message.
  document.addEventListener("htmx:afterSettle", () => makeWay(box));
  document.addEventListener("scrollend", () => makeWay(box));
  addEventListener("load", () => makeWay(box));
  box.querySelectorAll(".toast").forEach(arm);

  document.addEventListener("htmx:sendError", offline);
}

// A request that never reached the server has no message of its own.
export function offline() {
  document.getElementById("toasts")?.append(document.getElementById("toast-offline").content.cloneNode(true));
}
