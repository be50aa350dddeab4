// Messages about what was done go away by themselves; errors stay until they are closed.
const stay = 6000;

export function toasts() {
  const box = document.getElementById("toasts");
  if (!box) return;
  const leave = (toast) => {
    toast.classList.add("leaving");
    setTimeout(() => toast.remove(), 250);
  };
  const arm = (toast) => {
    if (toast.dataset.armed || toast.classList.contains("error")) return;
    toast.dataset.armed = "1";
    let timer = setTimeout(leave, stay, toast);
    toast.addEventListener("pointerenter", () => clearTimeout(timer));
    toast.addEventListener("pointerleave", () => (timer = setTimeout(leave, stay, toast)));
  };
  box.addEventListener("click", (event) => {
    if (event.target.closest("[data-dismiss]")) leave(event.target.closest(".toast"));
  });
  new MutationObserver(() => box.querySelectorAll(".toast").forEach(arm)).observe(box, { childList: true });
  box.querySelectorAll(".toast").forEach(arm);

  // A request that never reached the server has no message of its own.
  document.addEventListener("htmx:sendError", () => {
    const template = document.getElementById("toast-offline");
    if (template && !box.querySelector("[data-offline]")) box.append(template.content.cloneNode(true));
  });
}
