package locales

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/account"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// withTables adds the keys of what may stand in the events of runs, and in the troubles of alarm channels.
func withTables(families map[string][]string) map[string][]string {
	for key := range event.Specs {
		families["event."] = append(families["event."], string(key))
	}
	for key := range alarm.Troubles {
		families["trouble."] = append(families["trouble."], string(key))
	}
	for key := range account.Reasons {
		families["account.why."] = append(families["account.why."], string(key))
	}
	for _, glue := range jobspec.AllGlues {
		families["glue."] = append(families["glue."], string(glue))
	}
	for _, kind := range alarm.Kinds() {
		families["alarms.kind."] = append(families["alarms.kind."], string(kind.Kind), string(kind.Kind)+help)
		if kind.Secret != alarm.SecretNone {
			families["alarms.field.secret."] = append(families["alarms.field.secret."], string(kind.Kind)+".help")
		}
		if kind.Secret == alarm.SecretToken {
			families["alarms.field.token."] = append(families["alarms.field.token."], string(kind.Kind))
		}
		if kind.Default != "" {
			families["alarms.field.api."] = append(families["alarms.field.api."], string(kind.Kind)+help)
		}
	}
	for _, f := range jobspec.Fields {
		families["audit.field."] = append(families["audit.field."], f.Column)
	}
	for _, f := range slices.Concat(wire.AllFaults, alarm.Faults) {
		families["fault."] = append(families["fault."], string(f))
	}
	maps.Copy(families, event.Vocabulary)
	return families
}

var zone = time.FixedZone("", 8*3600)

// hidden says whether an argument is for programs alone.
func hidden(a event.Arg) bool { return a.Kind == event.FlagMore || a.Name == "Node" }

func TestEveryArgumentOfAnEventIsTold(t *testing.T) {
	t.Parallel()
	c := New()
	books := []event.Teller{{Book: event.Specs, Family: "event."}, {Book: alarm.Troubles, Family: "trouble."}, {Book: account.Reasons, Family: "account.why."}}
	for _, lang := range Languages() {
		for _, teller := range books {
			teller.Printer, teller.Zone = c.Printer(lang), zone
			for key, spec := range teller.Book {
				told(t, teller, c.Printer(lang), key, spec)
			}
		}
	}
}

func told(t *testing.T, teller event.Teller, p *Printer, key event.Key, spec event.Spec) {
	t.Helper()
	e := event.Event{Key: key}
	var shown []string
	for i, a := range spec.Args {
		value, text := sample(p, a, i)
		e.Args = append(e.Args, value)
		if !hidden(a) {
			shown = append(shown, text)
		}
	}
	got := teller.Tell(e)
	if strings.Contains(got, "!") || strings.Contains(got, "<no value>") {
		t.Errorf("%s: %s is told as %q", p.Lang(), key, got)
	}
	for _, text := range shown {
		if !strings.Contains(got, text) {
			t.Errorf("%s: %s is told as %q, without %q", p.Lang(), key, got, text)
		}
	}
}

// sample is a value of an argument, and how it is shown. No two arguments of an event have the same.
func sample(p *Printer, a event.Arg, i int) (value, shown string) {
	digits := strings.Repeat(string(rune('2'+i)), 3)
	switch a.Kind {
	case event.Moment:
		at := time.Date(2026, 1, 2, 3, 4, i, 0, zone)
		return event.New(at, "x", at).Text(0), at.Format("2006-01-02 15:04:05")
	case event.Length:
		return digits, p.Duration(time.Duration(event.Event{Args: []string{digits}}.Number(0)) * time.Millisecond)
	case event.Word:
		word := families[a.Of][0]
		return word, p.T(a.Of + word)
	case event.FlagMore:
		return "", ""
	case event.Cause:
		inner := event.New(time.Unix(0, 0), event.Unknown, "http://"+digits)
		return event.CauseOf(inner), event.Teller{Printer: p, Zone: zone}.Tell(inner)
	case event.Words:
		return "words " + digits, "words " + digits
	case event.Number, event.RunID, event.JobID:
		return digits, digits
	}
	return digits, digits
}

func TestWhatAnEventIsToldAs(t *testing.T) {
	t.Parallel()
	c := New()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, zone)
	tests := []struct {
		event  event.Event
		en, zh string
	}{
		{event.New(at, event.StandsFor, 1000, true, at.Add(-time.Hour), at), "Stands for more than 1,000 fires planned from 2026-01-02 02:04:05 to 2026-01-02 03:04:05", "补执行 1,000+ 次错过的触发（2026-01-02 02:04:05 至 2026-01-02 03:04:05）"},
		{event.New(at, event.StandsFor, 1, false, at, at), "Stands for the fire planned for 2026-01-02 03:04:05, which passed unseen", "补执行 1 次错过的触发（2026-01-02 03:04:05）"},
		{event.New(at, event.Sent, "http://a/", 1500*time.Millisecond, 200, ""), "Sent to http://a/, answer after 1.5 s: 200", "已发送到 http://a/，1.5 秒后应答：200"},
		{event.New(at, event.Unreachable, "http://a/", time.Millisecond, wire.FaultRefused, ""), "Not sent: http://a/ cannot be reached, nobody listens there (1 ms)", "未发送：无法连接 http://a/，对方没有程序监听该端口（耗时 1 毫秒）"},
		{event.New(at, event.LostRun, "of a newer version", "http://a/"), "Result lost: http://a/ of a newer version", "任务结果丢失：http://a/ of a newer version"},
		{event.New(at, "of-tomorrow", 1, "b"), "of-tomorrow 1 b", "of-tomorrow 1 b"},
		{event.Event{Key: event.Routed}, "Route strategy “”: , one of", "路由策略“”：从  个地址中选中"},
	}
	for _, tt := range tests {
		for lang, want := range map[string]string{English: tt.en, Chinese: tt.zh} {
			if got := (event.Teller{Printer: c.Printer(lang), Zone: zone}).Tell(tt.event); got != want {
				t.Errorf("%s: got %q, want %q", lang, got, want)
			}
		}
	}
}
