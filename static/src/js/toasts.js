import htmx from "htmx.org";
import { onReturn } from "./live.js";
import { say } from "./say.js";

// Messages about what was done go away by themselves; errors stay until they are closed.
// What can be taken back stays for as long as it takes to read it and to think.
const stay = (toast) => (toast.matches(".error, :has(.undo)") ? 12000 : 6000);

const leave = (toast) => {
  toast.classList.add("leaving");
  setTimeout(() => toast.remove(), 250);
};

// fade lets a message go when there was time to read it.
function fade(toast) {
  if (toast.dataset.armed) return;
  toast.dataset.armed = "1";
  let timer;
  const hold = () => clearTimeout(timer);
  const free = () => {
    hold();
    if (!toast.matches(":focus-within")) timer = setTimeout(leave, stay(toast), toast);
  };
  for (const type of ["pointerenter", "focusin"]) toast.addEventListener(type, hold);
  for (const type of ["pointerleave", "focusout"]) toast.addEventListener(type, free);
  free();
}

export function toasts() {
  const box = document.getElementById("toasts");
  if (!box) return;
  const arm = () => box.querySelectorAll(".toast:not(.error)").forEach(fade);
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
  };
  new MutationObserver(() => {
    once();
    if (box.childElementCount) settle();
    arm();
  }).observe(box, { childList: true });
  if (dialog) {
    // A dialog that closes or gets another content takes nothing with it.
    document.addEventListener("htmx:beforeSwap", (event) => event.detail.target === dialog && document.body.append(box));
    dialog.addEventListener("close", settle);
  }
  arm();
  // What came with the page is no change, of which alone a reader hears.
  setTimeout(say, 500, [...box.querySelectorAll(".toast > div")].map((said) => said.textContent.trim()).join(" "));

  document.addEventListener("htmx:sendError", (event) => {
    offline();
    // A filter that nobody received is sent again, with what stands in it by then.
    const filter = event.detail.elt.closest("form.filters");
    if (filter) onReturn(() => filter.isConnected && htmx.trigger(filter, "submit"));
  });
}

// A request without an answer has no message of its own. Its message outlasts a server that answers again at once: on a bad line that is
// the next thing which the page hears, and nothing else says that the deed may not have been done.
export function offline() {
  const toast = document.getElementById("toast-offline").content.firstElementChild.cloneNode(true);
  document.getElementById("toasts")?.append(toast);
  onReturn(() => fade(toast));
}
