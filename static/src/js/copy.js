// Buttons that copy what stands in an element or a field.
export function copyButtons(root) {
  for (const button of root.querySelectorAll("[data-copy-from]")) {
    const from = document.getElementById(button.dataset.copyFrom);
    copies(button, () => from.value ?? from.textContent);
  }
}

// copies has a button put a text on the clipboard, and says that it is there.
export function copies(button, text) {
  const said = button.querySelector("[role=status]");
  button.hidden = false;
  button.addEventListener("click", () => {
    if (!put(text(), button)) return;
    button.classList.add("copied");
    said.textContent = button.dataset.copied;
    setTimeout(() => {
      button.classList.remove("copied");
      said.textContent = "";
    }, 1500);
  });
}

// put answers whether it did. navigator.clipboard exists only on https and localhost, and many consoles stand on plain http; this way
// works on both, and copies what is selected in the document. Beside an open dialog nothing can be, so the text stands next to the button.
function put(text, button) {
  const box = document.createElement("textarea");
  box.className = "visually-hidden";
  box.value = text;
  button.after(box);
  box.select();
  const copied = document.execCommand("copy");
  box.remove();
  button.focus();
  return copied;
}
