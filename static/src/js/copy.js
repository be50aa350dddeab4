// Buttons that copy what stands in an element or a field. The clipboard exists only on https and localhost: elsewhere they stay hidden.
export function copyButtons(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("[data-copy-from]")) {
    button.hidden = false;
    const said = button.querySelector("[role=status]");
    button.addEventListener("click", async () => {
      const from = document.getElementById(button.dataset.copyFrom);
      await navigator.clipboard.writeText(from.value ?? from.textContent);
      button.classList.add("copied");
      said.textContent = button.dataset.copied;
      setTimeout(() => {
        button.classList.remove("copied");
        said.textContent = "";
      }, 1500);
    });
  }
}
