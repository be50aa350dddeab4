// Whether a page still knows what it shows. Every part that refreshes itself has a source here and says of each round whether it
// was answered; from that come the one mark of the page, the numbers that turn grey, times that stop counting, and what is done
// as soon as the server answers again.
import { now as time } from "./clock.js";
import { say } from "./say.js";

const before = 2; // failed rounds in a row until the page calls itself cut off: one may be a restart
export const silent = before; // as many failed rounds counts one that waited for a word and got none
// slept says that the machine was asleep since a moment, by what should have been over in so many ms: then nobody was there to hear the server.
export const slept = (began, most) => Date.now() - began > most + 3000;
const sources = new Map(); // ms for which an answer is good, by source
const returns = new Set(); // what waits for the server to answer
const probe = 2000;
let state = "live"; // or "lost"; "ended": the session has; "gone": the server answers, and there is no such page for this user any more
let missed = 0;
let since = time(); // the last answer
let probing = 0;

export function source(good) {
  const self = {
    answered() {
      missed = 0;
      since = time();
      show("live");
      answers();
    },
    missed(rounds = 1) {
      if ((missed += rounds) >= before && state === "live") show("lost");
    },
    // over says that a status means that nothing more will come: the session has ended, or what was asked for is not there, or not for
    // this user.
    over(status) {
      const now = { 401: "ended", 403: "gone", 404: "gone" }[status];
      if (now) show(now);
      return now;
    },
    close() {
      sources.delete(self);
      if (sources.size === 0) missed = 0;
      show(sources.size ? state : "live");
    },
  };
  sources.set(self, good);
  show(state);
  return self;
}

// knows says that what the page shows is as fresh as its rounds keep it. A page without rounds never does.
export const knows = () => state === "live" && sources.size > 0 && time() - since < Math.max(...sources.values());

// cutOff says that the page has rounds, and none that was answered lately.
export const cutOff = () => sources.size > 0 && !knows();

// onReturn does something as soon as the server answers again. A page without rounds asks for that alone.
export function onReturn(what) {
  returns.add(what);
  if (!sources.size) probing ||= setTimeout(ask, probe);
}

async function ask() {
  const answered = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(probe) }).then(() => true, () => false);
  probing = answered || sources.size ? 0 : setTimeout(ask, probe);
  if (answered) answers();
}

function answers() {
  const now = [...returns];
  returns.clear();
  for (const what of now) what();
}

function show(now) {
  if (now !== state && sources.size) say(document.querySelector("[data-live-mark]")?.dataset["said" + now[0].toUpperCase() + now.slice(1)], true);
  state = now;
  document.documentElement.dataset.live = sources.size ? state : "";
  for (const mark of document.querySelectorAll("[data-live-mark]")) {
    mark.hidden = sources.size === 0;
    mark.classList.toggle("lost", state !== "live");
    const text = mark.querySelector("[data-state-text]");
    if (text.textContent !== mark.dataset[state]) text.textContent = mark.dataset[state];
    const at = mark.querySelector("time");
    at.hidden = state === "live";
    at.dateTime = new Date(since).toISOString();
    const login = mark.querySelector("a");
    login.hidden = state !== "ended";
    login.search = new URLSearchParams({ next: location.pathname + location.search });
  }
}
