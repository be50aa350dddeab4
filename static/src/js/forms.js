// A form that the browser sends by itself is lost with its page when nobody answers, so it is found out first whether
// somebody does. Leaving a form that was changed asks first, too.
import { offline } from "./toasts.js";

const large = "main form.form, main form:has([data-editor], [data-flow])";
const patience = 5000; // ms for its answer: a frozen server takes a call and says nothing
const typed = (form) => new URLSearchParams(new FormData(form)).toString();

export function forms() {
  const asking = new WeakSet(); // a second click sends nothing twice
  const asked = new WeakSet(); // the server has just answered
  let sent;
  document.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || form.method !== "post") return; // htmx has its own way to say it
    if (asked.delete(form)) {
      sent = form;
      return;
    }
    event.preventDefault();
    if (asking.has(form)) return;
    asking.add(form);
    const answers = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(patience) }).then(() => true, () => false);
    asking.delete(form);
    if (!answers) {
      offline();
      return;
    }
    asked.add(form);
    form.requestSubmit(submitter);
  });

  // What an input method has not finished is no word yet, least of all one to look for.
  const text = "input, textarea";
  document.addEventListener("input", (event) => event.isComposing && event.target.matches(text) && event.stopImmediatePropagation(), true);
  document.addEventListener("compositionend", ({ target }) => target.matches(text) && target.dispatchEvent(new Event("input", { bubbles: true })));

  // A filter answers while it is typed. Its "change" comes only when the field is left, which is when something else is
  // pressed: an answer to it would draw that anew under the pointer, and the click would be lost.
  document.addEventListener("change", (event) => event.target.matches('.filters input:is([type="search"], [type="text"], :not([type]))') && event.stopImmediatePropagation(), true);

  const form = document.querySelector(large);
  if (!form) return;
  // One that came back with errors, or with what somebody else changed, holds what is not stored.
  const before = form.querySelector("[aria-invalid=true], .changes") ? null : typed(form);
  addEventListener("beforeunload", (event) => {
    if (sent !== form && typed(form) !== before) event.preventDefault();
  });
}
