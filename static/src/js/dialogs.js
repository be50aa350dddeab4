// Where the keyboard begins: at the first field; where something is asked, or cannot be taken back, at the button that changes nothing.
const starts = [".panel:not(:has(footer .danger)) .body :is(input:enabled:not([type=hidden], [type=radio]:not(:checked)), select:enabled, textarea)", "footer [data-close]", "footer .button"];

// A link with hx-target="#dialog" opens its page's panel over the current one instead of leaving it.
export function dialogs() {
  const dialog = document.getElementById("dialog");
  if (!dialog) return;
  let opener = null;

  // Only after settling does htmx own the form inside; opened earlier, a quick click would leave the page.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target === dialog) {
      const begins = ["[aria-invalid=true]", "[autofocus]"];
      if (!dialog.open) {
        opener = document.activeElement;
        if (opener === document.body) opener = event.detail.requestConfig?.elt; // of a menu that has closed
        dialog.showModal();
        document.activeElement.blur();
        begins.push(...starts);
      }
      begins.flatMap((start) => [...dialog.querySelectorAll(start)]).find((start) => start.checkVisibility())?.focus();
    }
    // Who does not see it is told with its title what it says, but no lists.
    const texts = [...dialog.querySelectorAll(".body > :is(p, .notice, .facts, blockquote)")];
    dialog.setAttribute("aria-describedby", texts.map((text, i) => (text.id ||= "dialog-" + i)).join(" "));
    // Nothing to begin at, or what was pressed went with what it stood in: the heading says what this is, or what came of it.
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
