// The colours of a terminal's table of 256, from the sixteenth on: the style sheet has the first sixteen, and pages may not bring styles
// of their own. One that would be too dark to read on the ground of the output is mixed with white.
const ground = 0.26; // the least relative luminance that is read with ease there, also on the tint of an error

const steps = [0, 95, 135, 175, 215, 255];

const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

const readable = (rgb) => {
  while (luminance(rgb) < ground) rgb = rgb.map((v) => Math.min(255, v + (255 - v) * 0.1 + 1));
  return rgb.map(Math.round);
};

let drawn = false;

export function colours() {
  if (drawn) return;
  drawn = true;
  const rules = [];
  for (let i = 16; i < 256; i++) {
    const n = i - 16;
    const rgb = i < 232 ? [steps[Math.floor(n / 36)], steps[Math.floor(n / 6) % 6], steps[n % 6]] : Array(3).fill(8 + 10 * (i - 232));
    rules.push(`.log-lines .c${i}{color:rgb(${readable(rgb).join()})}`);
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules.join(""));
  document.adoptedStyleSheets.push(sheet);
}
