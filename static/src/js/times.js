// Keeps "3 min ago" true while a page stays open. The words come from the server with {N} and {Span} in them.
const units = [["y", 31536000], ["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

import { now } from "./clock.js";
import { cutOff, knows } from "./live.js";

export function times() {
  const words = JSON.parse(document.body.dataset.timeWords ?? "null");
  if (!words) return;
  const span = (millis) => {
    const seconds = Math.abs(millis) / 1000;
    const [unit, size] = units.find(([, size]) => seconds >= size);
    return words[unit].replace("{N}", Math.floor(seconds / size));
  };
  const say = (millis) => (Math.abs(millis) < 1000 ? words.now : (millis > 0 ? words.in : words.ago).replace("{Span}", span(millis)));
  // What is due and has not happened is due now for a while, then late; the server says the same (format.Due). A page that does
  // not know whether it has happened, or whether it is still to, says for when it was planned.
  const due = (millis, time) => {
    if (cutOff() || (millis < 1000 && !knows())) return time.title.slice("2006-".length);
    if (millis >= 1000) return say(millis);
    return millis > -11000 ? words.due : words.late.replace("{Span}", span(millis)); // after ten whole seconds
  };
  setInterval(() => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("time[data-relative][datetime]")) {
      const left = Date.parse(time.dateTime) - now();
      const text = "due" in time.dataset || (left > 0 && time.title && cutOff()) ? due(left, time) : say(left);
      if (time.textContent !== text) time.textContent = text;
      // A time that has passed is none of the next ones.
      if (left < 0) time.closest("[data-coming]")?.remove();
    }
  }, 1000);
}
