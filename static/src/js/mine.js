// Says when a job of one's own has failed, whatever page is open, and has the tab say so while nobody looks at it.
const every = 20000; // ms

const box = document.getElementById("toasts");
if (box?.dataset.mine) {
  const page = document.documentElement.dataset;
  const round = async () => {
    try {
      // What was told on the page before is not told again.
      const answer = await fetch(`${box.dataset.mine}?since=${sessionStorage.getItem("told") ?? 0}`, { headers: { "Punctual-Live": "1" } });
      if (answer.redirected || answer.status === 401) return;
      if (answer.ok) sessionStorage.setItem("told", answer.headers.get("Punctual-Until"));
      if (answer.status === 200) {
        box.insertAdjacentHTML("beforeend", await answer.text());
        if (document.hidden) page.failed = Number(page.failed ?? 0) + 1;
      }
    } catch {
      // The next round tells it.
    }
    setTimeout(round, every);
  };
  setTimeout(round, every / 10);
  document.addEventListener("visibilitychange", () => document.hidden || delete page.failed);
}
