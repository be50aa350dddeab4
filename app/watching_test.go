package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/executor/executortest"
)

// alertRules are deploy/prometheus/rules.yml.
type alertRules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr         string
			Labels, Annotations map[string]string
		}
	}
}

// watched are the expressions of the rules and of the board.
func watched(t *testing.T) (rules alertRules, rulesExprs, boardExprs []string) {
	t.Helper()
	raw, err := os.ReadFile("../deploy/prometheus/rules.yml")
	if err == nil {
		err = yaml.Unmarshal(raw, &rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			rulesExprs = append(rulesExprs, r.Expr)
		}
	}
	raw, err = os.ReadFile("../deploy/grafana/punctual.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			boardExprs = append(boardExprs, strings.NewReplacer("$__rate_interval", "1m", "$group", ".*").Replace(target.Expr))
		}
	}
	if len(rulesExprs) < 8 || len(boardExprs) < 10 {
		t.Fatalf("only %d rules and %d expressions of the board", len(rulesExprs), len(boardExprs))
	}
	return rules, rulesExprs, boardExprs
}

// TestWatchingNamesWhatIsPublished: a rule about a metric that is not there never fires, and nobody notices.
func TestWatchingNamesWhatIsPublished(t *testing.T) {
	t.Parallel()
	a := start(t, testOptions(t))
	descriptions := make(chan *prometheus.Desc)
	go func() { a.registry.Describe(descriptions); close(descriptions) }()
	labels := make(map[string][]string)
	form := regexp.MustCompile(`fqName: "(punctual_\w+)".*variableLabels: \{([\w,]*)\}`)
	for d := range descriptions {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			labels[m[1]] = strings.Split(m[2], ",")
		}
	}
	rules, inRules, inBoard := watched(t)
	use := regexp.MustCompile(`(punctual_\w+)(?:\{([^}]*)\})?`)
	for _, expr := range append(inRules, inBoard...) {
		for _, m := range use.FindAllStringSubmatch(expr, -1) {
			known, there := labels[strings.TrimSuffix(m[1], "_bucket")]
			if !there {
				t.Errorf("%s is not published: %s", m[1], expr)
			}
			for _, l := range regexp.MustCompile(`(\w+)[=!]`).FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(known, l[1]) {
					t.Errorf("%s has no label %s: %s", m[1], l[1], expr)
				}
			}
		}
	}
	const manual = "https://github.com/punctual-job/punctual/blob/main/"
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			page, anchor, _ := strings.Cut(strings.TrimPrefix(r.Annotations["runbook_url"], manual), "#")
			raw, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
			if err != nil {
				t.Errorf("%s: %v", r.Alert, err)
				continue
			}
			var anchors []string
			for _, h := range regexp.MustCompile(`(?m)^##+ ([\w ,-]+)$`).FindAllStringSubmatch(string(raw), -1) {
				anchors = append(anchors, strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(h[1]), ",", ""), " ", "-"))
			}
			if !slices.Contains(anchors, anchor) {
				t.Errorf("%s: %s has no heading #%s", r.Alert, page, anchor)
			}
		}
	}
}

// TestTheRunbooks: each alert leads to its own heading, in both languages, is tried in rules_test.yml, and the commands there work.
func TestTheRunbooks(t *testing.T) {
	rules, _, _ := watched(t)
	tried, err := os.ReadFile("../deploy/prometheus/rules_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	var alerts []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/runbooks.md#"+strings.ToLower(r.Alert)) {
				t.Errorf("%s leads to %s", r.Alert, r.Annotations["runbook_url"])
			}
			if !regexp.MustCompile(`alertstate="firing",alertname="`+r.Alert+`"`).Match(tried) && !strings.Contains(string(tried), "alertname: "+r.Alert+"\n") {
				t.Errorf("%s is not tried in rules_test.yml", r.Alert)
			}
		}
	}
	_, c := working(t, testOptions(t), "greet")
	t.Setenv("PUNCTUAL_URL", c.base)
	t.Setenv("PUNCTUAL_TOKEN", c.token)
	for _, page := range []string{"../docs/runbooks.md", "../docs/zh-CN/runbooks.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var headings []string
		commands := 0
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimSuffix(line, "\n")
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				headings = append(headings, heading)
			}
			if args, ok := strings.CutPrefix(line, "punctual "); ok {
				commands++
				if out, err := punctual(t, words(args)...); err != nil {
					t.Errorf("%s: %s: %v\n%s", page, line, err, out)
				}
			}
		}
		if !slices.Equal(headings, alerts) {
			t.Errorf("%s has %v, the alerts are %v", page, headings, alerts)
		}
		if commands < 5 {
			t.Errorf("%s has only %d commands", page, commands)
		}
	}
}

// tool finds a program of Debian's package prometheus, or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: apt-get install prometheus", name)
	}
	return path
}

func TestWatchingIsTakenByPromtool(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// TestWatchingARealInstance lets a real Prometheus scrape the product and asks it what the rules and the board ask.
func TestWatchingARealInstance(t *testing.T) {
	t.Parallel()
	program := tool(t, "prometheus")
	o := testOptions(t)
	o.MetricsToken, o.Sample = "token-of-prometheus", SampleOn
	a := start(t, o)
	rules, err := filepath.Abs("../deploy/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: punctual
    authorization: {credentials: token-of-prometheus}
    static_configs: [{targets: [%q]}]
`, rules, o.Listener.Addr())
	if err := os.WriteFile(filepath.Join(folder, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + executortest.FreePort(t)
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+filepath.Join(folder, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	ask := func(path string, into any) error {
		res, err := http.Get("http://" + address + "/api/v1/" + path)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		answer := struct {
			Status, Error string
			Data          any
		}{Data: into}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			return err
		}
		if answer.Status != "success" {
			return fmt.Errorf("%s: %s", path, answer.Error)
		}
		return nil
	}
	var last error
	series := func(expr string) int {
		var data struct{ Result []any }
		last = ask("query?query="+url.QueryEscape(expr), &data)
		return len(data.Result)
	}
	executortest.Eventually(t, a.publicURL()+" scraped", func() error {
		for _, expr := range []string{`up == 1`, `sum by (group) (rate(punctual_run_results_total[1m]))`, `punctual_lease_ok == 1`} {
			if series(expr) == 0 {
				return errors.Join(fmt.Errorf("nothing for %s", expr), last)
			}
		}
		return nil
	})
	_, inRules, inBoard := watched(t)
	for _, expr := range append(inRules, inBoard...) {
		series(expr)
		if last != nil {
			t.Errorf("%s: %v", expr, last)
		}
	}
	for _, expr := range inBoard { // these have something to show from the first moment on
		if strings.Contains(expr, "runs_running") || strings.HasPrefix(expr, "punctual_timer") || strings.Contains(expr, "by (result)") {
			if series(expr) == 0 {
				t.Errorf("the board shows nothing for %s", expr)
			}
		}
	}
	var loaded struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	executortest.Eventually(t, "rules evaluated", func() error {
		if err := ask("rules", &loaded); err != nil {
			t.Fatal(err)
		}
		done := true
		for _, g := range loaded.Groups {
			for _, r := range g.Rules {
				done = done && r.Health != "unknown"
				if r.LastError != "" {
					t.Errorf("%s: %s", r.Name, r.LastError)
				}
			}
		}
		if !done || len(loaded.Groups) != 1 {
			return fmt.Errorf("not all are: %+v", loaded)
		}
		return nil
	})
}
