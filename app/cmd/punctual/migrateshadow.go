package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/scheduler/shadow"
)

type migrateShadowCmd struct {
	database
	For    time.Duration `default:"24h" help:"For how long to look."`
	State  string        `default:"shadow.json" placeholder:"FILE" help:"What was found so far, written every minute; a later look goes on with it."`
	Report string        `default:"shadow.html" placeholder:"FILE" help:"The same as a page."`
}

func (c *migrateShadowCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	var last app.ShadowReport
	if err := readReport(c.State, &last); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	_, err = fmt.Fprintf(s.out, "looking for %v; nothing is sent and nothing is written but %s and %s\n", c.For, c.State, c.Report)
	if err != nil {
		return err
	}
	err = app.Shadow(ctx, o, last, c.For, func(r app.ShadowReport) error {
		last = r
		return errors.Join(writeWhole(c.State, func(w io.Writer) error { return json.NewEncoder(w).Encode(r) }),
			writeWhole(c.Report, func(w io.Writer) error { return shadowPage.Execute(w, r) }))
	})
	if err != nil {
		return err
	}
	return shadowText(s.out, last)
}

func readReport(file string, r *app.ShadowReport) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// writeWhole writes a file that is never seen half.
func writeWhole(file string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// shadowedJobs is how many jobs the text and the page name; the state has all.
const shadowedJobs = 100

func shadowText(w io.Writer, r app.ShadowReport) error {
	var b strings.Builder
	for _, line := range shadowLines(r) {
		b.WriteString(line + "\n")
	}
	for i, j := range r.Jobs {
		if i == shadowedJobs {
			fmt.Fprintf(&b, "… %s\n", app.Counted("%d more {job|jobs}", len(r.Jobs)-i))
			break
		}
		fmt.Fprintf(&b, "job %d %q (%s): %d planned, %d late, %d dropped, %d doubled", j.ID, j.Name, j.Conf, j.Planned, j.Late, j.Missed, j.Doubled)
		if j.Why != "" {
			b.WriteString("; " + j.Why)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shadowLines are the report in a few sentences.
func shadowLines(r app.ShadowReport) []string {
	t := r.Total
	lines := []string{
		fmt.Sprintf("%s of XXL-JOB %s, times in %s, watched for %v until %s.", r.Database, r.Release, r.Zone, r.Watched.Round(time.Second), r.Until.Format(time.DateTime)),
		fmt.Sprintf("Of %d planned fires XXL-JOB ran %d on time, %d late (the worst by %v), and dropped %d; %d were doubled. Punctual planned each of them once.",
			t.Planned, t.OnTime, t.Late, t.Worst.Round(time.Second), t.Missed, t.Doubled),
	}
	if r.Open > 0 {
		lines = append(lines, fmt.Sprintf("%d more were due in the last %v and are not judged yet: their runs may still come.", r.Open, shadow.Patience))
	}
	if t.Other > 0 {
		lines = append(lines, fmt.Sprintf("%d other runs were by hand, of programs or other jobs, or retries.", t.Other))
	}
	return lines
}

var shadowPage = template.Must(template.New("shadow").Funcs(template.FuncMap{
	"lines": shadowLines,
	"at":    func(t time.Time) string { return t.Format(time.DateTime) },
	"long":  func(d time.Duration) string { return d.Round(time.Second).String() },
	"first": func(list []app.ShadowedJob) []app.ShadowedJob { return list[:min(len(list), shadowedJobs)] },
}).Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>punctual migrate shadow: {{.Database}}</title>
<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em}
.wide{overflow-x:auto}td,th{text-align:left;padding:.2em 1em .2em 0;vertical-align:top}td.n{text-align:right}code{overflow-wrap:anywhere}</style></head>
<body>
<h1>{{.Database}}</h1>
{{range lines .}}<p>{{.}}</p>{{end}}
{{if .Jobs}}<h2>Jobs to look at</h2><div class="wide"><table><tr><th>Job</th><th>Schedule</th><th>Planned</th><th>On time</th><th>Late</th><th>Dropped</th><th>Doubled</th><th>Other times here</th></tr>
{{range first .Jobs}}<tr><td>{{.ID}} {{.Name}}</td><td><code>{{.Conf}}</code></td><td class="n">{{.Planned}}</td><td class="n">{{.OnTime}}</td><td class="n">{{.Late}}</td><td class="n">{{.Missed}}</td><td class="n">{{.Doubled}}</td><td>{{.Why}}</td></tr>{{end}}</table></div>{{end}}
{{if .Findings}}<h2>The newest</h2><div class="wide"><table><tr><th>Planned</th><th>Job</th><th>What</th><th>Late by</th><th>Run</th></tr>
{{range .Findings}}<tr><td>{{at .Planned}}</td><td>{{.JobID}}</td><td>{{.Kind}}</td><td>{{if .Late}}{{long .Late}}{{end}}</td><td>{{if .RunID}}{{.RunID}}{{end}}</td></tr>{{end}}</table></div>{{end}}
</body></html>
`))
