// Draws a part of the page anew every so often while somebody looks at it: [data-live-every] says how many ms apart, and
// [data-live-from] from where, if not from the page itself.
import { source } from "./live.js";
import { arrived, known } from "./say.js";

const patience = 10000; // ms for an answer
const idle = 1000; // between two looks whether the page has such a part by now
const again = 2000; // after a round that failed, and so much more after each further one

export function rounds(draw) {
  let own = null;
  let timer = 0;
  let asking = false;
  let failed = 0;
  let listed = ""; // the address whose list was drawn last

  const ask = async (shown) => {
    const address = location.href;
    try {
      const answer = await fetch(shown.dataset.liveFrom ?? address, { headers: { "HX-Request": "true", "Punctual-Live": "1" }, signal: AbortSignal.timeout(patience) });
      if (own.over(answer.redirected ? 401 : answer.status)) return;
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(shown.id);
      failed = 0;
      // Another filter may have been drawn meanwhile.
      if (fresh && shown.isConnected && address === location.href) {
        if (shown.matches("[data-results]")) {
          known(shown, listed !== address);
          listed = address;
          arrived(fresh);
        }
        draw(shown, fresh);
      }
      own.answered();
    } catch {
      failed++;
      own.missed();
    }
  };
  const round = async () => {
    if (asking) return;
    clearTimeout(timer);
    const shown = document.querySelector("[data-live-every]");
    const every = Number(shown?.dataset.liveEvery) || idle;
    if (!shown) {
      own?.close();
      own = null;
    } else if (!document.hidden && own) {
      asking = true;
      await ask(shown);
      asking = false;
    } else {
      own ??= source(2 * every + 2000);
    }
    timer = setTimeout(round, failed ? Math.min(every, again * failed) : every);
  };
  round();
  document.addEventListener("visibilitychange", round);
}
