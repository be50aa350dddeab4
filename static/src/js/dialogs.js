// A link with hx-target="#dialog" opens its page's panel over the current one instead of leaving it.
export function dialogs() {
  const dialog = document.getElementById("dialog");
  if (!dialog) return;
  let opener = null;

  // Only after settling does htmx own the form inside; opened earlier, a quick click would leave the page.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target !== dialog) return;
    if (!dialog.open) {
      opener = document.activeElement;
      dialog.showModal();
    }
    (dialog.querySelector("[aria-invalid=true]") ?? dialog.querySelector("[autofocus]"))?.focus();
  });
  // A click whose target is the dialog itself fell on its backdrop: everything inside is a child. One that began inside selects text.
  let pressed;
  dialog.addEventListener("pointerdown", (event) => (pressed = event.target));
  dialog.addEventListener("click", (event) => {
    if ((event.target === dialog && pressed === dialog) || event.target.closest("[data-close]")) {
      event.preventDefault();
      dialog.close();
    }
  });
  dialog.addEventListener("close", () => {
    if (dialog.open) return; // again already: this comes a moment after it was closed
    dialog.replaceChildren();
    if (opener?.isConnected) opener.focus();
  });
}
