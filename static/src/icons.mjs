// Prints static/dist/icons.svg: the shapes of the Lucide icons that the console draws. To add an icon, name it here.
import { readFileSync } from "node:fs";

const names = `
  activity arrow-down arrow-right ban bell bell-off bell-ring book-open bookmark calendar-clock case-sensitive chart-gantt check chevron-down chevron-left chevron-right
  chevron-up chevrons-up-down circle circle-alert circle-check circle-dashed circle-help circle-minus circle-stop circle-x clock code
  columns-2 command copy download ellipsis external-link eye eye-off file-text folder-input funnel history hourglass inbox info
  key-round keyboard languages layout-dashboard link list-checks loader log-out mail message-square monitor moon network octagon-x
  pencil play plug plus power radio refresh-cw rotate-ccw search scroll-text send server settings skip-forward square star sun tag terminal timer timer-off
  trash-2 triangle-alert unfold-horizontal unplug upload user users webhook wifi-off workflow wrap-text x zap
`.trim().split(/\s+/);

const rename = { "circle-help": "circle-question-mark" }; // Lucide renames icons now and then; our names stay
const dir = new URL("./node_modules/lucide-static/icons/", import.meta.url);
const drawn = `viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"`;
let out = `<svg xmlns="http://www.w3.org/2000/svg">\n`;
for (const name of names) {
  const svg = readFileSync(new URL(`${rename[name] ?? name}.svg`, dir), "utf8");
  const inner = svg.slice(svg.indexOf(">", svg.indexOf("<svg")) + 1, svg.lastIndexOf("</svg>")).trim().replace(/\s*\n\s*/g, "").replace(/ \/>/g, "/>");
  out += `<symbol id="${name}" ${drawn}>${inner}</symbol>\n`;
}
process.stdout.write(out + "</svg>\n");
