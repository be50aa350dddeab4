// Keyboard: "/" goes to the search field, Escape leaves it, "g" and a letter go to a place of the navigation.
export function keys() {
  let afterG = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
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
    } else if (event.key === "g") {
      afterG = event.timeStamp;
    } else if (event.timeStamp - afterG < 1200) {
      afterG = 0;
      document.querySelector(`a[data-go="${CSS.escape(event.key)}"]`)?.click();
    }
  });
}
