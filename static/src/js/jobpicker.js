// Jobs of a form: picked by a search, shown by their names, stored as the ids of a text field that stays in the form.
import { mark } from "./keys.js";

export function jobPicker(root) {
  const field = root.querySelector?.("[data-job-picker]:not([data-ready])");
  if (!field) return;
  field.dataset.ready = "";
  const ids = field.querySelector("input:not([role])");
  const chips = field.querySelector("[data-chips]");
  const box = field.querySelector("[data-job-search]");
  const search = box.querySelector("input");
  const popup = box.querySelector(".job-popup");

  const options = () => [...popup.querySelectorAll("[role=option]")];
  const current = () => popup.querySelector("[aria-selected=true]");
  const show = (open) => {
    popup.hidden = !open;
    search.setAttribute("aria-expanded", open);
    if (!open) mark(popup, search);
  };
  const store = () => {
    ids.value = [...chips.children].map((chip) => chip.dataset.chip).join(",");
    ids.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const dress = (chip) => {
    chip.querySelector("[data-chip-remove]").hidden = false;
    return chip;
  };
  const pick = (option) => {
    if (!option || option.ariaDisabled === "true") return;
    if ("single" in field.dataset) chips.replaceChildren();
    chips.append(dress(option.querySelector("template").content.firstElementChild.cloneNode(true)));
    store();
    search.value = "";
    show(false);
    search.focus();
  };
  const remove = (chip) => {
    if (!chip) return;
    chip.remove();
    store();
    search.focus();
    show(false);
  };

  // Now the names and the search stand for the text.
  for (const chip of chips.children) dress(chip);
  ids.hidden = true;
  field.querySelector(`#${ids.id}-help`)?.setAttribute("hidden", "");
  field.querySelector("label").htmlFor = search.id;
  if (ids.ariaInvalid === "true") {
    search.ariaInvalid = "true";
    search.setAttribute("aria-describedby", [`${ids.id}-error`, search.getAttribute("aria-describedby")].join(" ").trim());
  }
  box.hidden = false;
  if (document.querySelector("[autofocus]") === ids) search.focus(); // it is the first that something is wrong with

  chips.addEventListener("click", (event) => remove(event.target.closest("[data-chip-remove]") && event.target.closest("[data-chip]")));
  popup.addEventListener("mousedown", (event) => event.preventDefault()); // the search keeps the focus
  popup.addEventListener("click", (event) => pick(event.target.closest("[role=option]")));
  // An answer that comes late is to another question, or to one that a pick has ended.
  popup.addEventListener("htmx:afterSwap", (event) => {
    show(document.activeElement === search && (event.detail.requestConfig.parameters[search.name] ?? "") === search.value);
  });
  search.addEventListener("blur", () => show(false));
  // The form is not sent from here, also when a key's character comes by itself, as from tools that type.
  search.addEventListener("keypress", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  search.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const list = options().filter((option) => option.ariaDisabled !== "true");
    const at = list.indexOf(current());
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (popup.hidden) search.dispatchEvent(new Event("focus"));
      else if (list.length) mark(popup, search, list[(at + (event.key === "ArrowDown" ? 1 : at < 0 ? 0 : -1) + list.length) % list.length]);
    } else if (event.key === "Enter") {
      event.preventDefault();
      pick(current() ?? (search.value.trim() && list[0]));
    } else if (event.key === "Escape" && !popup.hidden) {
      event.stopPropagation();
      show(false);
    } else if (event.key === "Backspace" && search.value === "") {
      remove(chips.lastElementChild);
    }
  });
}
