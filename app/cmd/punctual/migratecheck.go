package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/punctual-job/punctual/app"
)

type migrateCheckCmd struct {
	database
	Format string `default:"text" enum:"text,json,html" help:"text, json or html."`
}

// checked is an exit code that a check comes to, which is said already.
type checked int

func (c checked) Error() string { return "" }

// The codes of a check, for pipelines.
const (
	codeLook    checked = 4 // adoption would change something that the report tells
	codeRefused checked = 5 // a start would refuse the database
)

func (c *migrateCheckCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	r, err := app.Check(context.Background(), o)
	if err != nil {
		return err
	}
	switch c.Format {
	case "json":
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(r)
	case "html":
		err = checkPage.Execute(s.out, r)
	default:
		err = checkText(s.out, r)
	}
	switch {
	case err != nil:
		return err
	case r.Verdict == app.CheckLook:
		return codeLook
	case r.Verdict == app.CheckRefused:
		return codeRefused
	}
	return nil
}

// checkedNames is how many of the jobs, users or groups of a point the text names; the other forms have all.
const checkedNames = 20

// points writes what was found.
func points(b *strings.Builder, all []app.CheckPoint) {
	for _, p := range all {
		fmt.Fprintf(b, "\n%s: %s\n", p.Key, p.Text)
		for i, name := range p.Of {
			if i == checkedNames {
				fmt.Fprintf(b, "  … and %d more\n", len(p.Of)-i)
				break
			}
			fmt.Fprintf(b, "  %s\n", name)
		}
	}
}

func checkText(w io.Writer, r app.CheckReport) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Database   %s (%s)", r.Database, r.Server)
	if r.Release != "" {
		line("XXL-JOB    %s", r.Release)
	}
	line("Time zone  %s", r.Zone)
	if r.Release != "" {
		line("Log        about %d runs, %d MiB", r.Runs, r.Bytes>>20)
		line("Adoption   seconds; about %d s more for the log's indexes, after the start if the log is big", r.Seconds)
		line("Jobs       %d, %d started", r.Jobs.Total, r.Jobs.Started)
		line("Users      %d", len(r.Users))
		line("Groups     %d", len(r.Groups))
	}
	line("Verdict    %s", r.Verdict)
	points(&b, r.Points)
	if len(r.Steps) > 0 {
		line("\nWhat is done to the tables:")
		for _, s := range r.Steps {
			line("  %s", s)
		}
	}
	if len(r.Users) > 0 {
		line("\nUsers and their rights:")
		for _, u := range r.Users {
			rights := "all rights in: " + strings.Join(u.Groups, ", ")
			switch {
			case u.Admin:
				rights = "administrator"
			case len(u.Groups) == 0:
				rights = "none"
			}
			line("  %s: %s", u.Name, rights)
		}
	}
	if len(r.Groups) > 0 {
		line("\nExecutors:")
		for _, g := range r.Groups {
			line("  %s (%s): %d registered, protocol %s", g.AppName, g.Title, len(g.Addresses), g.Protocol)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var checkPage = template.Must(template.New("check").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>punctual migrate check: {{.Database}}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em}td,th{text-align:left;padding:.2em 1em .2em 0;vertical-align:top}
.refused{color:#b00020}code,li{overflow-wrap:anywhere}</style></head>
<body>
<h1>{{.Database}}</h1>
<p>{{.Server}}{{if .Release}} · XXL-JOB {{.Release}}{{end}} · {{.Zone}} · <b class="{{.Verdict}}">{{.Verdict}}</b></p>
{{if .Release}}<p>{{.Jobs.Total}} jobs, {{.Jobs.Started}} started; about {{.Runs}} runs in the log, whose indexes take about {{.Seconds}} s (on a big log after the start, beside the work).</p>{{end}}
{{range .Points}}<h2 {{if .Refuses}}class="refused"{{end}}>{{.Key}}</h2><p>{{.Text}}</p>{{if .Of}}<details><summary>{{len .Of}}</summary><ul>{{range .Of}}<li>{{.}}</li>{{end}}</ul></details>{{end}}
{{end}}
{{if .Steps}}<h2>What is done to the tables</h2><ul>{{range .Steps}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{if .Users}}<h2>Users</h2><table><tr><th>Name</th><th>Rights</th></tr>{{range .Users}}<tr><td>{{.Name}}</td><td>{{if .Admin}}administrator{{else}}{{range .Groups}}{{.}} {{end}}{{end}}</td></tr>{{end}}</table>{{end}}
{{if .Groups}}<h2>Executors</h2><table><tr><th>App name</th><th>Title</th><th>Protocol</th><th>Addresses</th></tr>{{range .Groups}}<tr><td>{{.AppName}}</td><td>{{.Title}}</td><td>{{.Protocol}}</td><td>{{range .Addresses}}{{.}} {{end}}</td></tr>{{end}}</table>{{end}}
</body></html>
`))
