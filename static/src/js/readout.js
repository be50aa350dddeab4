// Says at once what the pointer is on in a picture of times: the title that the browser shows after a while, and only then.
const drawn = ".chart svg a, .chart svg g, .time-row svg a, .heat a.cell, .month td";

{
  const box = document.createElement("div");
  box.className = "readout";
  box.hidden = true;
  box.ariaHidden = "true"; // the pictures have tables, which say the same
  document.body.append(box);
  let on = null;
  let title = "";
  const titleOf = (part) => part.querySelector(":scope > title")?.textContent ?? part.getAttribute("title") ?? "";
  const set = (part, text) => {
    const inside = part.querySelector(":scope > title");
    if (inside) inside.textContent = text;
    else if (part.hasAttribute("title")) part.setAttribute("title", text);
  };
  const leave = () => {
    if (on && title && titleOf(on) === "") set(on, title); // else it was drawn anew meanwhile
    on = null;
    box.hidden = true;
  };
  document.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const part = event.target instanceof Element ? event.target.closest(drawn) : null;
    if (part !== on) {
      leave();
      title = part ? titleOf(part) : "";
      if (!title) return;
      on = part;
      set(on, ""); // the browser would say it a second time
      box.textContent = title;
      box.hidden = false;
    }
    if (!on) return;
    const { width, height } = box.getBoundingClientRect();
    const x = Math.min(Math.max(8, event.clientX - width / 2), innerWidth - width - 8);
    const y = event.clientY - height - 14;
    box.style.transform = `translate(${x}px, ${y < 8 ? event.clientY + 20 : y}px)`;
  });
  document.addEventListener("pointerleave", leave);
  document.addEventListener("pointerdown", leave);
  addEventListener("scroll", leave, true);
}
