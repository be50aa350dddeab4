// Draws a part of the page anew every so often while somebody looks at it: [data-live-every] says how many ms apart, and
// [data-live-from] from where, if not from the page itself.
import { heard } from "./clock.js";
import { silent, slept, source } from "./live.js";
import { arrived, known } from "./say.js";

const patience = 8000; // ms for an answer
const idle = 1000; // between two looks whether the page has such a part by now
const glance = 5000; // between two looks whether the server is there, where a part is drawn less often
const again = 2000; // after a round that failed, and so much more after each further one

export function rounds(draw) {
  let own = null;
  let timer = 0;
  let asking = false;
  let failed = 0;
  let over; // that the server is there says nothing for the page any more
  let due; // when the part is to be drawn again
  let deeds = 0; // that were answered: what was asked for before the last of them is older than it
  let listed = ""; // the address whose list was drawn last

  // Without a part it asks whether the server is there.
  const ask = async (shown) => {
    const address = location.href;
    const before = deeds;
    const began = Date.now();
    try {
      const answer = await fetch(shown ? (shown.dataset.liveFrom ?? address) : "/healthz", { headers: { "HX-Request": "true", "Punctual-Live": "1" }, signal: AbortSignal.timeout(patience) });
      if ((over = own.over(answer.redirected ? 401 : answer.status))) return;
      if (!answer.ok) throw new Error(answer.status);
      const fresh = shown && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(shown.id);
      failed = 0;
      heard(Date.parse(answer.headers.get("Punctual-Time")));
      // Another filter may have been drawn meanwhile.
      if (fresh && shown.isConnected && address === location.href && before === deeds) {
        if (shown.matches("[data-results]")) {
          known(shown, listed !== address);
          listed = address;
          arrived(fresh);
        }
        draw(shown, fresh);
      }
      own.answered();
    } catch (error) {
      failed++;
      if (!slept(began, patience)) own.missed(error.name === "TimeoutError" ? silent : 1);
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
      const now = Date.now();
      const draws = failed || over || every <= glance || now >= due || now + every < due; // of another part
      if (draws) due = now + every;
      await ask(draws && shown);
      asking = false;
    } else {
      due = Date.now() + every;
      own ??= source(2 * every + 2000);
    }
    timer = setTimeout(round, Math.min(every, failed ? again * failed : glance));
  };
  round();
  document.addEventListener("htmx:afterRequest", ({ detail }) => (deeds += detail.requestConfig.verb === "post"));
  document.addEventListener("visibilitychange", () => {
    due = 0;
    round();
  });
}
