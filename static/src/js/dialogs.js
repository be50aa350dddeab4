// A link with hx-target="#dialog" opens its page's panel over the current one instead of leaving it.
export function dialogs() {
  const dialog = document.getElementById("dialog");
  if (!dialog) return;
  let opener = null;

  // Only after settling does htmx own the form inside; opened earlier, a quick click would leave the page.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target === dialog) {
      if (!dialog.open) {
        opener = document.activeElement;
        if (opener === document.body) opener = event.detail.requestConfig?.elt; // of a menu that has closed
        dialog.showModal();
      }
      (dialog.querySelector("[aria-invalid=true]") ?? dialog.querySelector("[autofocus]"))?.focus();
    }
    // What was pressed went with what it stood in: the heading says what came of it.
    const title = dialog.open && !dialog.contains(document.activeElement) && dialog.querySelector("h1");
    if (!title) return;
    title.tabIndex = -1;
    title.focus();
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
    // What opened it may lie in a menu that has closed, or be gone with a list that was drawn anew.
    [opener, opener?.closest("details")?.querySelector("summary"), document.querySelector("[data-results]")].find((back) => back?.checkVisibility())?.focus();
  });
}
