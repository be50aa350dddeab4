// Where the week is wider than its window, it begins with what was last.
export function dashboard() {
  const hour = [...document.querySelectorAll("#dashboard .heat-scroll tbody tr:first-child a.cell")].at(-1);
  const week = hour?.closest(".heat-scroll");
  if (week) week.scrollLeft = hour.parentElement.offsetLeft + 3 * hour.offsetWidth - week.clientWidth;
}
