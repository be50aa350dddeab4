// Cron texts in words. The dialect counts Sunday as 1, as Quartz does.
import cronstrue from "cronstrue";
import "cronstrue/locales/zh_CN";
import "cronstrue/locales/zh_TW";

// What becomes of the library's words in a language. It keeps the English order, the time first and the year last, with words for
// "only" that Chinese does not need.
const orders = { en: (words) => words, "zh-CN": (words) => days(months(simplified(words)), "周"), "zh-TW": (words) => days(months(traditional(words)), "週") };

// Days of the week are called as they are in the rest of the console, and are of each week as the days of a month are of each.
const days = (words, week) => words.replace(/星期(?=[一二三四五六日])/g, week).replace(/(^| )(?=[周週])/g, "$1每");

// Months are numbers in both, as days are; and those of no year are of each.
const names = ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"];
const months = (words) => words.replace(/十?[一二三四五六七八九]月|十月/g, (name) => names.indexOf(name) + 1 + " 月").replace(/^(?=\d+ 月)/, "每年 ")
  .replace(/月 ?[至到] ?(?=\d)/, "月至 ").replace(/月 的?(?=[最第])/, "月").replace(/月 (?=\d+:)/, "月 每天 ");

function simplified(words) {
  return words
    .replace(/ +/g, " ")
    .replace(/在 (\S+) 和 (\S+) 之间/g, "$1 至 $2")
    .replace(/,? 和 +/g, "、")
    .replace(/(?<=[\d号]), (?=\d)|(?<=星期.), (?=星期)|(?<=月), (?=[一二三四五六七八九十]+月)/g, "、")
    .split(", ")
    .map((part) => part.replace(/^(在(一分钟后的|整点后的)? ?|仅于?|限)/, "").replace(/月份$/, "月").trim())
    .reverse()
    .join(" ")
    .replaceAll("每隔", "每")
    .replaceAll(" 号", " 日")
    .replace(/月 每月 ?/, "月 ")
    .replace(/^(?=[\d:、]+$)/, "每天 ")
    .replace("整点 第", "整点第")
    .replace("个 星期", "个星期")
    .replace("每月的", "每月")
    .replace(/从(\d+)年至(\d+)年/, "$1 年至 $2 年");
}

function traditional(words) {
  return words
    .replace(/ +/g, " ")
    .replace(/在 (\S+) 和 (\S+) 之間/g, "$1 至 $2")
    .replace(/,? 和 +/g, "、")
    .replace(/(?<=[\d號]), (?=\d)|(?<=星期.), (?=星期)|(?<=月), (?=[一二三四五六七八九十]+月)/g, "、")
    .split(", ")
    .map((part) => part.replace(/^((僅)?在(一分鐘後的|整點後的)? ?)/, "").trim())
    .reverse()
    .join(" ")
    .replace(/(?<=星期.) 到 (?=星期)/g, "至")
    .replaceAll(" 號", " 日")
    .replace(/月 每月的? ?/, "月 ")
    .replace(/每 (\d+) 月/, "每 $1 個月")
    .replace(/^(?=[\d:、]+$)/, "每天 ")
    .replace(/整點 (\d)/, "整點第 $1")
    .replace(/(:\d\d |每小時 |每分鐘 )(?=\d)/, "$1第 ")
    .replace(/分$/, "分鐘")
    .replace("個 星期", "個星期")
    .replace(/每月的 ?(?=\d)/, "每月 ")
    .replace(/每月的? ?(?=[最第])/, "每月");
}

const lang = document.documentElement.lang in orders ? document.documentElement.lang : "en";
const locale = lang.replace("-", "_");

// What happens each minute, or each hour, does so each hour and each day.
const each = /(, (?:every (?:minute|hour)|每分[钟鐘]|每小[时時])), .*$/;

function sentence(text) {
  try {
    const say = (verbose) => cronstrue.toString(text.trim().normalize("NFKC"), { locale, verbose, dayOfWeekStartIndexZero: false, use24HourTimeFormat: true });
    // "At 02:00" leaves open on which days; the long form says "every day".
    const short = say(false);
    const words = /^(At |在)/.test(short) && !short.includes(",") ? say(true) : short;
    return orders[lang](words.replace(each, "$1"));
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
