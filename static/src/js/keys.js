// Keyboard: Ctrl+K opens the palette, "?" the list of keys; "/" goes to the search field, Escape leaves it; "g" and a letter
// go to a place of the navigation; j and k walk through a list, Enter opens its row, x picks it.
export function keys() {
  // The keyboards of phones have a key of their own for it, so the form's sending is what counts, not the Enter key.
  document.addEventListener("submit", (event) => {
    const palette = event.target.closest("[data-palette-box]");
    if (!palette) return;
    event.preventDefault();
    (palette.querySelector("[data-hit].current") ?? palette.querySelector("[data-hit]"))?.click();
  });
  let afterG = -Infinity; // times count from the page's load
  document.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      const link = document.querySelector("[data-palette]");
      if (!link || event.target.closest?.(".cm-editor")) return;
      event.preventDefault();
      const open = document.querySelector("dialog[open]");
      if (!open) link.click();
      else if (open.querySelector("[data-palette-box]")) open.close();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const palette = event.target.closest?.("[data-palette-box]");
    if (palette) {
      walkHits(palette, event);
      return;
    }
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (typing) {
      if (event.key === "Escape" && typing.matches("[data-search]")) typing.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      const search = document.querySelector("[data-search]");
      if (search) {
        event.preventDefault();
        search.focus();
        search.select();
      }
    } else if (event.key === "?") {
      document.querySelector("[data-keys]")?.click();
    } else if (event.key === "g") {
      afterG = event.timeStamp;
    } else if (event.timeStamp - afterG < 1200) {
      afterG = -Infinity;
      document.querySelector(`a[data-go="${CSS.escape(event.key)}"]`)?.click();
    } else if (event.key === "j" || event.key === "k") {
      walkRows(event.key === "j" ? 1 : -1);
    } else if (event.key === "x") {
      const box = document.querySelector("tr.current input[type=checkbox]");
      if (box) box.click();
    }
  });
}

// The current row is the one whose link has the focus, so that Enter opens it and screen readers say it.
function walkRows(step) {
  const rows = [...document.querySelectorAll("[data-results] tbody tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("current"));
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)];
  rows[at]?.classList.remove("current");
  next.classList.add("current");
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("a[data-open], a.title, a")?.focus({ preventScroll: true });
}

function walkHits(palette, event) {
  const hits = [...palette.querySelectorAll("[data-hit]")];
  const at = hits.findIndex((hit) => hit.classList.contains("current"));
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    hits[at]?.classList.remove("current");
    const step = event.key === "ArrowDown" ? 1 : -1;
    const next = hits[(at + step + hits.length + (at < 0 && step < 0 ? 1 : 0)) % hits.length];
    next?.classList.add("current");
    next?.scrollIntoView({ block: "nearest" });
  }
}
