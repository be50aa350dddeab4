// Rows of a list are picked by their boxes. This counts them, picks all, and a range with the shift key.
export function picks() {
  const whole = "[data-pick-all], [data-pick-page]"; // in the head of the table, and above it
  let last = null;
  const boxes = () => [...document.querySelectorAll("[data-results] tbody .pick")];
  const show = () => {
    const count = boxes().filter((box) => box.checked).length;
    for (const all of document.querySelectorAll(whole)) {
      all.checked = count > 0 && count === boxes().length;
      all.indeterminate = count > 0 && !all.checked;
    }
    const picked = document.querySelector("[data-picked-count]");
    const every = document.querySelector("[data-pick-every]:checked");
    if (picked) picked.textContent = every ? every.dataset.pickEvery : count;
  };
  const ready = () => {
    for (const all of document.querySelectorAll(whole)) all.hidden = boxes().length === 0;
  };
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.("[data-results] .pick");
    if (!box) return;
    const every = document.querySelector("[data-pick-every]");
    if (every && box !== every && !box.checked) every.checked = false;
    if (box.matches(whole + ", [data-pick-every]")) {
      for (const other of boxes()) other.checked = box.checked;
    } else {
      const list = boxes();
      if (event.shiftKey && last?.isConnected) {
        const [from, to] = [list.indexOf(last), list.indexOf(box)].sort((a, b) => a - b);
        for (const other of list.slice(from, to + 1)) other.checked = box.checked;
      }
      last = box;
    }
    show();
  });
  // A box is ticked by Enter too, which would else send its form: the first of the deeds.
  document.addEventListener("keypress", (event) => {
    if (event.key !== "Enter" || !event.target.matches?.(".pick")) return;
    event.preventDefault();
    event.target.click();
  });
  document.addEventListener("htmx:afterSettle", () => {
    ready();
    show();
  });
  ready();
}
