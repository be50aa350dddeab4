// Cron texts in words. The dialect counts Sunday as 1, as Quartz does.
import cronstrue from "cronstrue";
import "cronstrue/locales/zh_CN";

const locale = document.documentElement.lang === "zh-CN" ? "zh_CN" : "en";

function sentence(text) {
  try {
    const say = (verbose) => cronstrue.toString(text.trim(), { locale, verbose, dayOfWeekStartIndexZero: false, use24HourTimeFormat: true });
    // "At 02:00" leaves open on which days; the long form says "every day".
    const short = say(false);
    return /^(At |在)/.test(short) && !short.includes(",") ? say(true) : short;
  } catch {
    return ""; // the server's preview says what is wrong
  }
}

function describe(root) {
  for (const element of root.querySelectorAll?.("[data-cron]") ?? []) element.textContent = sentence(element.dataset.cron);
}

const input = document.querySelector("[data-cron-input]");
if (input) {
  const output = document.querySelector("[data-cron-sentence]");
  const say = () => {
    const words = input.value.trim() && sentence(input.value);
    output.querySelector("span").textContent = words;
    output.hidden = !words;
  };
  input.addEventListener("input", say);
  say();
  for (const preset of document.querySelectorAll("[data-preset]")) {
    preset.addEventListener("click", () => {
      input.value = preset.dataset.preset;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      input.focus();
    });
  }
}
describe(document);
document.addEventListener("htmx:load", (event) => describe(event.detail.elt.parentNode ?? document));
