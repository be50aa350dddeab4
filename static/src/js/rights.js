// A long list is narrowed to what somebody types, and a box gives or takes a right in all the lines that are left of it. The forms of accounts and
// teams load it, as whole pages.
const rowsOf = (list) => [...list.querySelectorAll("[data-filter-row]")];

for (const search of document.querySelectorAll("[data-filter-rows]")) {
  const list = document.getElementById(search.dataset.filterRows);
  search.closest("[hidden]").hidden = false;
  search.addEventListener("input", () => {
    const text = search.value.trim().toLowerCase();
    for (const row of rowsOf(list)) row.hidden = !row.textContent.toLowerCase().includes(text);
    list.dispatchEvent(new Event("change"));
  });
  search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault()); // it would save the form
}
for (const all of document.querySelectorAll("[data-all-rights]")) {
  const table = all.closest("table");
  const boxes = () => rowsOf(table).filter((row) => !row.hidden).flatMap((row) => [...row.querySelectorAll(`input[value$=".${all.value}"]`)]);
  const show = () => {
    const count = boxes().filter((box) => box.checked).length;
    all.checked = count > 0 && count === boxes().length;
    all.indeterminate = count > 0 && !all.checked;
  };
  all.removeAttribute("name"); // the boxes of the lines say it
  table.addEventListener("change", (event) => {
    if (event.target === all) for (const box of boxes()) box.checked = all.checked;
    show();
  });
  show();
}
