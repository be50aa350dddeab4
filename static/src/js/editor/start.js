// Puts CodeMirror in the place of a script's text area, and the merge view in the place of a table of differences. What is
// there without it goes on working: the text area stays in the form and is filled before the form is sent.
import { indentWithTab } from "@codemirror/commands";
import { HighlightStyle, defaultHighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { MergeView } from "@codemirror/merge";
import { Compartment, EditorState } from "@codemirror/state";
import { oneDarkHighlightStyle } from "@codemirror/theme-one-dark";
import { EditorView, keymap } from "@codemirror/view";
import { basicSetup } from "codemirror";

const look = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--text)", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--text-3)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 10%, transparent)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 24%, transparent)" },
  // Faint enough that every colour of the text keeps its contrast; the bar at the side and the underline say it too.
  "&.cm-merge-a .cm-changedLine, &.cm-merge-a .cm-deletedChunk": { backgroundColor: "color-mix(in srgb, var(--red) 6%, var(--surface))" },
  "&.cm-merge-b .cm-changedLine, &.cm-merge-b .cm-insertedLine": { backgroundColor: "color-mix(in srgb, var(--green) 6%, var(--surface))" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
});

// One Dark's red and purple are too dim on the ground of a changed line.
const brighter = { "#e06c75": "#f09aa1", "#c678dd": "#d496e6" };
const darkWords = HighlightStyle.define(oneDarkHighlightStyle.specs.map((spec) => ({ ...spec, color: brighter[spec.color] ?? spec.color })));

// The theme follows the page's, also when it changes.
const isDark = () => {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
};
const shades = () => [EditorView.darkTheme.of(isDark()), syntaxHighlighting(isDark() ? darkWords : defaultHighlightStyle)];
const shade = new Compartment();
const views = [];
const repaint = () => views.forEach((view) => view.dispatch({ effects: shade.reconfigure(shades()) }));
new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

const extensions = (language, nonce, label) => [
  EditorView.cspNonce.of(nonce), shade.of(shades()), basicSetup, look, language ? language() : [],
  EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
];

export function editors(languages) {
  for (const area of document.querySelectorAll("[data-editor]")) edit(area, languages[area.dataset.editor]);
  for (const place of document.querySelectorAll("[data-merge]")) compare(place, languages[place.dataset.merge]);
}

function edit(area, language) {
  const form = area.form;
  const view = new EditorView({
    doc: area.value,
    extensions: [
      keymap.of([indentWithTab, { key: "Mod-s", preventDefault: true, run: () => (form.requestSubmit(), true) }]),
      extensions(language, area.dataset.nonce, area.labels[0].textContent),
      // What is wrong with it, and how the tabulator key leaves it.
      EditorView.contentAttributes.of({ "aria-describedby": [area.getAttribute("aria-describedby"), "glue-keys"].join(" ").trim() }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) area.value = view.state.doc.toString();
      }),
    ],
  });
  views.push(view);
  area.hidden = true;
  area.required = false; // what is hidden cannot be pointed at; the server says it too
  area.after(view.dom);
  area.labels[0].addEventListener("click", (event) => {
    event.preventDefault();
    view.focus();
  });
  form.classList.add("with-editor");
}

function compare(place, language) {
  const side = (name, label) => ({
    doc: place.querySelector(name).value,
    extensions: [extensions(language, place.dataset.nonce, label), EditorState.readOnly.of(true), EditorView.lineWrapping],
  });
  if (innerWidth < 760) return; // two columns have no room there; the table has
  const merge = new MergeView({
    a: side("[data-left]", place.dataset.leftLabel), b: side("[data-right]", place.dataset.rightLabel),
    collapseUnchanged: { margin: 4, minSize: 8 }, gutter: true, highlightChanges: true,
  });
  views.push(merge.a, merge.b);
  const labels = document.createElement("div");
  labels.className = "merge-labels";
  for (const text of [place.dataset.leftLabel, place.dataset.rightLabel]) {
    const label = document.createElement("b");
    label.textContent = text;
    labels.append(label);
  }
  place.querySelector(".difference").replaceWith(labels, merge.dom);
}
