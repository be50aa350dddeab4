// Keyboard: Ctrl+K opens the palette, "?" the list of keys; "/" goes to the search field, Escape leaves it; "g" and a letter
// go to a place of the navigation; j and k walk through a list, Enter opens its row, x picks it, and what has a [data-key] is clicked by
// it: in the current row, or else on the page. Whoever wants none of the single keys switches them off, and has Ctrl+K, Ctrl+Enter and Escape left.
export function keys() {
  // The keyboards of phones have a key of their own for it, so the form's sending is what counts, not the Enter key.
  document.addEventListener("submit", (event) => {
    const palette = event.target.closest("[data-palette-box]");
    if (!palette) return;
    event.preventDefault();
    (selected(palette) ?? palette.querySelector("[data-hit]"))?.click();
  });
  // The first hit is the current one, so that Enter does what is said; or still the one that a key led to before these hits came.
  document.addEventListener("htmx:afterSettle", (event) => {
    const palette = event.target.closest?.("[data-palette-box]") ?? event.target.querySelector?.("[data-palette-box]");
    if (!palette) return;
    const hits = [...palette.querySelectorAll("[data-hit]")];
    mark(palette, palette.querySelector("input"), hits.find((hit) => what(hit) === palette.led) ?? hits[0]);
  });
  // A deed is done where it was asked for: its message tells of it.
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful && event.target.matches?.("[data-hit][hx-post]")) event.target.closest("dialog")?.close();
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
    if (event.ctrlKey || event.metaKey || event.altKey) {
      // Sends the form of a field, also of one of several lines, as its button does; or the part of it that has a button of its own.
      if (event.key === "Enter" && !event.altKey) event.target.closest?.("input, textarea, select")?.closest("[data-part], form")?.querySelector("button:is(.primary, .danger:not(.aside), :scope[data-part] *)")?.click();
      return;
    }
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
    if (document.querySelector("dialog[open]") || "noKeys" in document.body.dataset) return;
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
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.matches?.("tr.current a")) {
      event.preventDefault();
      walkRows(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key.length === 1) {
      const keyed = `[data-key="${CSS.escape(event.key)}"]`;
      const row = document.querySelector("[data-results] tr.current");
      (row ? row.querySelector(keyed) : document.querySelector(`main ${keyed}:not(tr *)`))?.click();
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

const selected = (list) => list.querySelector("[aria-selected=true]");
const what = (hit) => hit.href + hit.getAttribute("hx-post");

// mark makes an option of a list the current one, or none: the field keeps the focus, and names it for screen readers.
export function mark(list, field, option) {
  selected(list)?.setAttribute("aria-selected", "false");
  if (!option) return field.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

function walkHits(palette, event) {
  const hits = [...palette.querySelectorAll("[data-hit]")];
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
  const step = steps[event.key];
  palette.led = ""; // by now something else is typed
  if (!step || !hits.length) return;
  event.preventDefault();
  const at = hits.indexOf(selected(palette));
  const next = Math.abs(step) > 1 ? Math.min(Math.max(at + step, 0), hits.length - 1) : (at + step + hits.length + (at < 0 && step < 0 ? 1 : 0)) % hits.length;
  mark(palette, palette.querySelector("input"), hits[next]);
  palette.led = what(hits[next]);
}
