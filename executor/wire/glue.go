package wire

import "slices"

// Glue is the kind of a job's code (docs/compat.md §3.5).
type Glue string

// The kinds; what there is to know of each is in the table of [Glues].
const (
	GlueBean       Glue = "BEAN"
	GlueGroovy     Glue = "GLUE_GROOVY"
	GlueShell      Glue = "GLUE_SHELL"
	GluePython     Glue = "GLUE_PYTHON"
	GluePython2    Glue = "GLUE_PYTHON2"
	GluePHP        Glue = "GLUE_PHP"
	GlueNodeJS     Glue = "GLUE_NODEJS"
	GluePowerShell Glue = "GLUE_POWERSHELL"
	GlueRuby       Glue = "GLUE_RUBY" // ours: executors of XXL-JOB answer that it is not valid
)

// GlueInfo is what there is to know of a kind. A new kind is an entry of the table, the words glue.KIND, its case in
// TestScriptsOfEveryLanguage, and its grammar in static/src/js/editor/editor.js.
type GlueInfo struct {
	Glue      Glue
	Title     string   // as executors spell it in answers
	Suffix    string   // of the files that scripts are written to
	Commands  []string // programs that run it, best first; none: it is no program, or one of a JVM
	Arguments []string // before the file
}

// glues is the table, in display order. GLUE_PYTHON means Python 3 since 3.2.0; before, it was whatever python was. Java source
// has no program here: it is compiled inside a JVM.
var glues = []GlueInfo{
	{Glue: GlueBean, Title: "BEAN"},
	{Glue: GlueGroovy, Title: "GLUE(Java)"},
	{Glue: GlueShell, Title: "GLUE(Shell)", Suffix: ".sh", Commands: []string{"bash"}},
	{Glue: GluePython, Title: "GLUE(Python3)", Suffix: ".py", Commands: []string{"python3", "python"}},
	{Glue: GluePython2, Title: "GLUE(Python2)", Suffix: ".py", Commands: []string{"python2", "python"}},
	{Glue: GluePHP, Title: "GLUE(PHP)", Suffix: ".php", Commands: []string{"php"}},
	{Glue: GlueNodeJS, Title: "GLUE(Nodejs)", Suffix: ".js", Commands: []string{"node"}},
	{Glue: GluePowerShell, Title: "GLUE(PowerShell)", Suffix: ".ps1", Commands: []string{"pwsh", "powershell"}, Arguments: []string{"-NoProfile", "-NonInteractive", "-File"}},
	{Glue: GlueRuby, Title: "GLUE(Ruby)", Suffix: ".rb", Commands: []string{"ruby"}},
}

// Glues lists the kinds in display order; the first is the form's default.
func Glues() []GlueInfo { return slices.Clone(glues) }

// Info is the entry of a kind in the table, and whether there is one.
func (g Glue) Info() (GlueInfo, bool) {
	at := slices.IndexFunc(glues, func(i GlueInfo) bool { return i.Glue == g })
	if at < 0 {
		return GlueInfo{}, false
	}
	return glues[at], true
}
