package flow

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheCasesOfTheDocumentation reads the table of docs/flows.md and decides each case. The Chinese page has the same.
func TestTheCasesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../../docs/flows.md", "../../docs/zh-CN/flows.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(raw), "<!-- cases -->\n")
		text, _, _ = strings.Cut(text, "<!-- /cases -->")
		rows := 0
		for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if i < 2 || len(cells) != 4 {
				continue
			}
			rows++
			name := strings.TrimSpace(cells[0])
			got := decided(t, name, spans(cells[1]), spans(cells[2]))
			if want := strings.Join(spans(cells[3]), ", "); got != want {
				t.Errorf("%s: %s: %s, want %s", page, name, got, want)
			}
		}
		if rows < 60 {
			t.Errorf("%s: %d cases", page, rows)
		}
	}
}

var span = regexp.MustCompile("`([^`]+)`")

func spans(cell string) (list []string) {
	for _, m := range span.FindAllStringSubmatch(cell, -1) {
		list = append(list, m[1])
	}
	return list
}

// decided is what is decided in a case.
func decided(t *testing.T, name string, steps, before []string) string {
	def := &Definition{}
	for _, text := range steps {
		if text == "continue" {
			def.OnFailure = OnFailureContinue
			continue
		}
		def.Steps = append(def.Steps, caseStep(text))
	}
	p := compile(t, def)
	run := p.NewRun()
	for _, text := range before {
		if err := happen(t, p, &run, text); err != nil {
			t.Fatalf("%s: %s: %v", name, text, err)
		}
	}
	d := p.Next(run, Data{})
	var did []string
	for _, e := range d.End {
		did = append(did, fmt.Sprintf("%s %s", def.Steps[e.Step].ID, e.State))
	}
	for _, s := range d.Start {
		text := "start " + def.Steps[s.Step].ID
		if s.Items > 0 {
			text += fmt.Sprintf(" ×%d", s.Items)
		}
		did = append(did, text)
	}
	for _, i := range d.Cancel {
		did = append(did, "cancel "+def.Steps[i].ID)
	}
	if d.Finish != Waiting {
		did = append(did, "flow "+d.Finish.String())
	}
	return strings.Join(did, ", ")
}

// caseStep reads a step: its id, what it needs, and what else there is to say.
func caseStep(text string) Step {
	id, rest, _ := strings.Cut(text, ": ")
	s := Step{ID: id}
	for i, part := range strings.Split(rest, ", ") {
		var n, at int
		switch {
		case part == "approve":
			s.Approve = &Approve{}
		case part == "wait":
			s.Wait = &Wait{Seconds: 1}
		case part == "continue_on_error":
			s.ContinueOnError = true
		case part == "any":
			s.Join = JoinAny
		case strings.HasPrefix(part, "if "):
			s.If = strings.TrimPrefix(part, "if ")
		case strings.HasPrefix(part, "foreach "):
			_, _ = fmt.Sscanf(part, "foreach %d at %d", &n, &at)
			s.Foreach = &Foreach{Items: fmt.Sprintf("1..%d", n), Parallel: at}
		case i > 0:
			n, _ = strconv.Atoi(part)
			s.Join = Join(n)
		default:
			s.Needs = strings.Fields(part)
		}
	}
	if s.Approve == nil && s.Wait == nil {
		s.Job = &JobRef{ID: 1}
	}
	return s
}

// happen records what happened, or does what a person does.
func happen(t *testing.T, p *Plan, run *Run, text string) error {
	step := func(id string) int {
		i, ok := p.Index(id)
		if !ok {
			t.Fatalf("there is no step %s", id)
		}
		return i
	}
	words := strings.Fields(text)
	switch {
	case text == "stop":
		run.Asked = AskedStop
	case text == "timeout":
		run.Asked = AskedTimeout
	case text == "rerun failed":
		return run.RerunFailed(p)
	case strings.HasPrefix(text, "rerun from "):
		return run.RerunFrom(p, step(words[2]))
	case strings.HasPrefix(text, "skip "):
		return run.Skip(p, step(words[1]))
	case strings.HasPrefix(text, "set "):
		return run.SetSuccess(p, step(words[1]))
	default:
		parts := strings.Split(text, ", ")
		id, word, _ := strings.Cut(parts[0], "=")
		s := &run.Steps[step(id)]
		s.State, s.Begun, s.Attempt = stateNamed(t, word), word != "skipped", 1
		for _, part := range parts[1:] {
			count, what, _ := strings.Cut(part, " ")
			n, _ := strconv.Atoi(count)
			switch what {
			case "items":
				s.Items.Total = n
			case "open":
				s.Items.Open = n
			case "success":
				s.Items.Succeeded = n
			case "failed":
				s.Items.Failed = n
			case "cancelled":
				s.Items.Cancelled = n
			default:
				s.Ending, s.Late, s.Begun = part == "ending" || part == "late", part == "late", part != "unstarted"
			}
		}
	}
	return nil
}

func stateNamed(t *testing.T, word string) State {
	for _, s := range AllStates {
		if s.String() == word {
			return s
		}
	}
	t.Fatalf("there is no state %s", word)
	return Waiting
}

// TestWhatPeopleMayNotDo is refused without a change.
func TestWhatPeopleMayNotDo(t *testing.T) {
	t.Parallel()
	p := compile(t, &Definition{Steps: []Step{caseStep("a"), caseStep("b: a"), caseStep("c: b"), caseStep("ask: approve"), caseStep("pause: wait")}})
	for _, tt := range []struct {
		name   string
		states []State
		asked  Asked
		deed   func(*Run) error
		want   error
	}{
		{"skip what runs", []State{Running, Waiting, Waiting}, 0, func(r *Run) error { return r.Skip(p, 0) }, ErrOpen},
		{"skip what has succeeded", []State{Success, Running, Waiting}, 0, func(r *Run) error { return r.Skip(p, 0) }, ErrSuccess},
		{"skip a question", []State{Running, Waiting, Waiting, Approval}, 0, func(r *Run) error { return r.Skip(p, 3) }, ErrAsks},
		{"set what runs to success", []State{Running, Waiting, Waiting}, 0, func(r *Run) error { return r.SetSuccess(p, 0) }, ErrOpen},
		{"set a question to success", []State{Running, Waiting, Waiting, Approval}, 0, func(r *Run) error { return r.SetSuccess(p, 3) }, ErrAsks},
		{"set anything in a run that is just ending", []State{Running, Cancelled, Cancelled}, AskedStop, func(r *Run) error { return r.SetSuccess(p, 1) }, ErrEnding},
		{"skip a wait of a run that is just ending", []State{Running, Cancelled, Cancelled, Cancelled, Running}, AskedTimeout, func(r *Run) error { return r.Skip(p, 4) }, ErrEnding},
		{"rerun where nothing failed", []State{Success, Success, Success, Success, Success}, 0, func(r *Run) error { return r.RerunFailed(p) }, ErrNothing},
		{"rerun before a step that runs", []State{Success, Success, Running}, 0, func(r *Run) error { return r.RerunFrom(p, 0) }, ErrOpen},
		{"rerun in a run that is just ending", []State{Running, Cancelled, Cancelled}, AskedStop, func(r *Run) error { return r.RerunFailed(p) }, ErrEnding},
	} {
		run := p.NewRun()
		for i, s := range tt.states {
			run.Steps[i].State = s
		}
		run.Asked = tt.asked
		before := fmt.Sprintf("%+v", run)
		if err := tt.deed(&run); err != tt.want || fmt.Sprintf("%+v", run) != before {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
