import { Idiomorph } from "idiomorph";

// Keeps the dashboard fresh while somebody looks at it, without moving what they have open or in focus.
const every = 15000;

export function dashboard() {
  if (!document.getElementById("dashboard")) return;
  const refresh = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.href, { headers: { "HX-Request": "true", "Punctual-Live": "1" } });
      if (!answer.ok || answer.redirected) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("dashboard");
      const shown = document.getElementById("dashboard");
      if (!fresh || !shown) return;
      Idiomorph.morph(shown, fresh, { callbacks: { beforeAttributeUpdated: (name) => name !== "open" } });
    } catch {
      // The next round tries again.
    }
  };
  // Where the week is wider than its window, it begins with what was last.
  const hour = [...document.querySelectorAll(".heat-scroll tbody tr:first-child a.cell")].at(-1);
  const week = hour?.closest(".heat-scroll");
  if (week) week.scrollLeft = hour.parentElement.offsetLeft + 3 * hour.offsetWidth - week.clientWidth;
  setInterval(refresh, every);
  document.addEventListener("visibilitychange", refresh);
}
