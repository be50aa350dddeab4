// The console's script. Pages read and forms work without it; it makes them quick and live.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";
import { copyButtons } from "./copy.js";
import { dashboard } from "./dashboard.js";
import { dialogs } from "./dialogs.js";
import { forms } from "./forms.js";
import { jobPicker } from "./jobpicker.js";
import { keys } from "./keys.js";
import { callbacks, drawJobs } from "./jobs.js";
import { liveRuns } from "./runs.js";
import { logViewers } from "./log.js";
import { picks } from "./picks.js";
import { rounds } from "./rounds.js";
import { menus } from "./menus.js";
import { tab } from "./tab.js";
import { times } from "./times.js";
import { toasts } from "./toasts.js";

window.htmx = htmx;
dashboard();
dialogs();
keys();
menus();
forms(); // after the menus, which send a theme by themselves
picks();
toasts();
tab();
times();
rounds((shown, fresh) => {
  if (shown.matches("[data-live-jobs]")) return drawJobs(shown, fresh);
  const changed = Idiomorph.morph(shown, fresh, { callbacks: callbacks(".menu-list") });
  for (const part of changed) htmx.process(part);
});
document.addEventListener("htmx:configRequest", ({ detail }) => {
  // What a page asks for by itself, because time has passed, does not keep its session alive.
  if (!detail.triggeringEvent) detail.headers["Punctual-Live"] = "1";
  // A filter's empty fields say nothing: they stay out of the address.
  if (detail.verb !== "get") return;
  for (const [name, value] of [...detail.formData.entries()]) if (value === "") detail.formData.delete(name);
});
// What is pressed may be closed to a second press until it is answered, and loses the focus by that. It has it again, or what came in its place; or the list, if
// that is drawn anew after a dialog has given the focus back into it.
document.addEventListener("htmx:afterRequest", ({ detail: { requestConfig } }) => {
  const pressed = requestConfig.triggeringEvent?.submitter ?? requestConfig.elt;
  if (document.activeElement !== document.body) return;
  [pressed, document.getElementById(pressed.id), requestConfig.triggeringEvent && document.querySelector("[data-results]")].find((back) => back?.checkVisibility())?.focus();
});
htmx.onLoad((root) => {
  jobPicker(root);
  copyButtons(root);
  liveRuns(root);
  logViewers(root);
});
