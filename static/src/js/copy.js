// Buttons that copy what stands in an element or a field.
export function copyButtons(root) {
  for (const button of root.querySelectorAll("[data-copy-from]")) {
    const from = document.getElementById(button.dataset.copyFrom);
    copies(button, () => from.value ?? from.textContent);
  }
}

// copies has a button put a text on the clipboard, and says that it is there.
export function copies(button, text) {
  const show = (copied) => {
    button.classList.toggle("copied", copied);
    button.querySelector("[role=status]").textContent = copied ? button.dataset.copied : "";
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    if (!put(text(), button)) return;
    show(true);
    setTimeout(show, 1500, false);
  });
}

// put answers whether it did. navigator.clipboard exists only on https and localhost, and many consoles stand on plain http; this way
// works on both, and copies what is selected in the document. Beside an open dialog nothing can be, so the text stands next to the button.
function put(text, button) {
  const box = document.createElement("textarea");
  box.value = text;
  button.after(box);
  box.select();
  const copied = document.execCommand("copy");
  box.remove();
  button.focus();
  return copied;
}
