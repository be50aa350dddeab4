// Menus are details elements: they open without script. This closes them on a click elsewhere and on Escape, and
// applies a chosen theme at once instead of after a page load.
export function menus() {
  const open = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of open()) {
      if (!menu.contains(event.target) || event.target.closest(".menu-item")) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of open()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button?.name !== "theme") return;
    event.preventDefault();
    const form = event.target;
    document.documentElement.dataset.theme = button.value;
    for (const other of form.querySelectorAll("button[name=theme]")) other.setAttribute("aria-pressed", other === button);
    const body = new URLSearchParams(new FormData(form));
    body.set("theme", button.value);
    fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => {});
  });
}
