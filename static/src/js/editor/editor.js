// The script editor, all languages but PHP.
import { java } from "@codemirror/lang-java";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { StreamLanguage } from "@codemirror/language";
import { powerShell } from "@codemirror/legacy-modes/mode/powershell";
import { ruby } from "@codemirror/legacy-modes/mode/ruby";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { editors } from "./start.js";

editors({
  GLUE_GROOVY: java,
  GLUE_SHELL: () => StreamLanguage.define(shell),
  GLUE_PYTHON: python,
  GLUE_PYTHON2: python,
  GLUE_NODEJS: javascript,
  GLUE_POWERSHELL: () => StreamLanguage.define(powerShell),
  GLUE_RUBY: () => StreamLanguage.define(ruby),
});
