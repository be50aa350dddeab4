// The page's tab says how things are while nobody looks at the page: its icon and the beginning of its title. What the page shows
// says of itself how many troubles there are: [data-trouble]; [data-failed] counts what was told of one's own jobs meanwhile.
const mark = /^(\(\d+\) |⚠ )/;

export function tab() {
  const icon = document.querySelector("link[data-trouble-icon]");
  if (!icon) return;
  const usual = icon.getAttribute("href");
  let said = "";
  const draw = () => {
    const { live } = document.documentElement.dataset;
    const troubles = Number(document.querySelector("[data-trouble]")?.dataset.trouble) || Number(document.documentElement.dataset.failed) || 0;
    const lost = live === "lost" || live === "ended";
    const now = lost ? "⚠ " : troubles ? `(${troubles}) ` : "";
    const title = now + document.title.replace(mark, "");
    if (document.title !== title) document.title = title;
    if (said === now) return;
    said = now;
    icon.href = lost ? icon.dataset.lostIcon : troubles ? icon.dataset.troubleIcon : usual;
  };
  const watch = new MutationObserver(draw);
  watch.observe(document.documentElement, { attributes: true, subtree: true, attributeFilter: ["data-live", "data-trouble", "data-failed"] });
  document.addEventListener("htmx:afterSettle", draw); // a part of the page may be another one now
  draw();
}
