// The script editor for PHP, whose grammar brings those of HTML and CSS along.
import { php } from "@codemirror/lang-php";
import { editors } from "./start.js";

editors({ GLUE_PHP: () => php({ plain: false }) });
