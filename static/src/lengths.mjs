// Has the pages grow with the size of text that a reader has chosen in the browser: the sheets are written in pixels of one who has left it as it
// comes, which is 16. A window is as narrow as the text in it is large. The small spaces around text, lines and corners stay as they are.
// node lengths.mjs FILE…
import fs from "node:fs";

const line = 8;
const space = 24;
const stays = /^(border|outline|box-shadow|text-underline|letter|--shadow|--radius)/;
const around = /^(padding|margin|gap|--gutter)/;
const grown = (text, unit, most) => text.replace(/(\d*\.?\d+)px/g, (length, n) => (n > most ? String(+(n / 16).toFixed(5)).replace(/^0/, "") + unit : length));

for (const file of process.argv.slice(2)) {
  const css = fs.readFileSync(file, "utf8");
  fs.writeFileSync(file, css
    .replace(/@media[^{]+/g, (condition) => grown(condition, "em", 0))
    .replace(/(?<=[{;])([a-z-]+):([^;{}]+)/g, (all, name, value) => (stays.test(name) ? all : `${name}:${grown(value, "rem", around.test(name) ? space : line)}`)));
}
