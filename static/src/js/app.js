// The console's script. Pages read and forms work without it; it makes them quick and live.
import { Idiomorph } from "idiomorph";
import htmx from "htmx.org";
import { copyButtons } from "./copy.js";
import { dashboard } from "./dashboard.js";
import { dialogs } from "./dialogs.js";
import { forms } from "./forms.js";
import { jobPicker } from "./jobpicker.js";
import { keys } from "./keys.js";
import { drawJobs } from "./jobs.js";
import { liveRuns } from "./runs.js";
import { logViewers } from "./log.js";
import { picks } from "./picks.js";
import { readout } from "./readout.js";
import { rights } from "./rights.js";
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
readout();
toasts();
tab();
times();
rounds((shown, fresh) => {
  if (shown.matches("[data-live-jobs]")) return drawJobs(shown, fresh);
  const changed = Idiomorph.morph(shown, fresh, { callbacks: {
    // The script's own doings are nothing the server knows: the page's mark, the schedules in words, what is open.
    beforeNodeMorphed: (old, now) => !(old.nodeType === 1 && (old.matches("[data-live-mark]") || (old.matches("[data-cron]") && old.dataset.cron === now.dataset?.cron))),
    beforeAttributeUpdated: (name, node) => name !== "open" && !(name === "class" && node.matches(".menu-list")),
  } });
  for (const part of changed) htmx.process(part);
});
// What a page asks for by itself, because time has passed, does not keep its session alive.
document.addEventListener("htmx:configRequest", (event) => {
  if (!event.detail.triggeringEvent) event.detail.headers["Punctual-Live"] = "1";
});
// A filter's empty fields say nothing: they stay out of the address.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.verb !== "get") return;
  const form = event.detail.formData;
  for (const [name, value] of [...form.entries()]) if (value === "") form.delete(name);
});
htmx.onLoad((root) => {
  jobPicker(root);
  copyButtons(root);
  liveRuns(root);
  logViewers(root);
  rights(root);
});
