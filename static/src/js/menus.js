// Menus are details elements: they open without script. This closes them on a click elsewhere and on Escape, and
// applies a chosen theme at once instead of after a page load.
export function menus() {
  const open = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of open()) {
      if (!menu.contains(event.target) || event.target.closest(".menu-item")) menu.open = false;
    }
  });
  // A list that would end below the window (or behind the bar of a phone) opens to where there is more room, and is no longer than that.
  document.addEventListener("toggle", (event) => {
    const list = event.target.matches?.("details.menu[open]") && event.target.querySelector(".menu-list:not(.up)");
    if (!list) return;
    list.classList.remove("flip");
    list.style.maxHeight = "";
    const bar = document.querySelector(".sidebar").getBoundingClientRect();
    const floor = bar.top > 0 ? bar.top : innerHeight;
    if (list.getBoundingClientRect().bottom <= floor - 4) return;
    const { top, bottom } = event.target.getBoundingClientRect();
    list.classList.toggle("flip", top > floor - bottom);
    list.style.maxHeight = Math.max(top, floor - bottom) - 8 + "px";
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of open()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  // The zone of the machine that somebody sits at is offered too.
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const zones of document.querySelectorAll("[data-zones]")) {
    if (here && ![...zones.options].some((zone) => zone.value === here)) zones.options[0].after(new Option(here, here));
  }
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button?.name !== "theme") return;
    event.preventDefault();
    const form = event.target;
    document.documentElement.dataset.theme = button.value;
    for (const other of form.querySelectorAll("button[name=theme]")) other.setAttribute("aria-pressed", other === button);
    const body = new URLSearchParams(new FormData(form));
    body.set("theme", button.value);
    fetch(form.action, { method: "POST", body, redirect: "manual", keepalive: true }).catch(() => {});
  });
}
