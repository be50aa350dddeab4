// The form of a flow's steps. The text is what is saved: whatever is changed, here or in the text, is sent with it, and the answer brings the
// picture, the form and the text as they are then. An answer to what has been changed since is asked for anew, so nothing typed is lost.
const place = document.querySelector("[data-flow]");
const steps = document.getElementById("flow-step");
const form = place.closest("form");
const text = form.elements.source;

const fields = () => JSON.stringify([...new FormData(steps)]);
const search = () => place.querySelector("[role=combobox]");
let deed = "";
let timer;
let sent; // what the last question was about
let known = fields(); // what the last answer brought
let waiting = false;
let held = null; // the button that was pressed to save before all was in the text

const later = () => {
  clearTimeout(timer);
  timer = setTimeout(send, 400);
};
function send() {
  if (search()?.value) return later();
  clearTimeout(timer);
  sent = fields() + text.value;
  waiting = true;
  window.htmx.trigger(place, "flow-send");
}
const failed = (event) => {
  if (event.target !== place) return;
  waiting = false;
  held = null;
};

place.addEventListener("click", (event) => {
  const button = event.target.closest("[data-deed]");
  if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return; // a link of the picture may be opened beside this page
  event.preventDefault();
  deed = button.dataset.deed;
  if (search()) search().value = ""; // what is looked for is given up
  send();
});
place.addEventListener("change", (event) => event.target.name && event.target !== search() && send());
steps.addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
text.addEventListener("input", later);
form.addEventListener("change", (event) => event.target.name === "glue" && send());

place.addEventListener("htmx:configRequest", (event) => event.target === place && event.detail.formData.set("flow_deed", deed));
place.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target !== place || !event.detail.shouldSwap) return;
  if (sent === fields() + text.value && !search()?.value) {
    deed = "";
    return;
  }
  event.detail.shouldSwap = false;
  later();
});
place.addEventListener("htmx:sendError", failed);
place.addEventListener("htmx:responseError", failed);
place.addEventListener("htmx:afterSettle", (event) => {
  if (event.target !== place) return;
  const fresh = place.querySelector("[data-flow-text]");
  if (fresh) text.value = fresh.value;
  place.querySelector("[data-focus]")?.focus();
  known = fields();
  waiting = false;
  const save = held;
  held = null;
  const wrong = place.querySelector("[aria-invalid=true], [data-flow-unread]");
  if (save && !wrong) form.requestSubmit(save.submitter);
  else if (save) (wrong.ariaInvalid ? wrong : text).focus();
});
// Saving waits for what has not come into the text yet.
document.addEventListener("submit", (event) => {
  if (event.target !== form || (!waiting && fields() === known)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  held = event;
  send();
}, true);
