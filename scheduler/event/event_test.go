package event_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/event"
)

var at = time.UnixMilli(1_763_780_000_123)

func TestWhatIsAppendedIsReadBack(t *testing.T) {
	t.Parallel()
	want := event.List{
		event.New(at, event.Claimed, "admin \"一\"\n", 7),
		event.New(at.Add(time.Second), event.StandsFor, 12, false, at.Add(-time.Hour), at),
		event.New(at, event.Unreachable, "http://10.0.0.1:9999/", 1500*time.Millisecond, "refused", errors.New("dial tcp: \x00\xff<b>")),
		event.New(at, event.NoExecutor),
	}
	got := event.Parse(want[:2].Encode() + "not an event\n[1,2]\n[\"claimed\"]\n[\"claimed\",1.5]\n[\"claimed\",1,2]\n" + want[2:].Encode())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if n := got[1].Number(0); n != 12 {
		t.Errorf("the run stands for %d fires, want 12", n)
	}
	if from := got[1].Time(2); !from.Equal(at.Add(-time.Hour)) {
		t.Errorf("the first fire is %v, want an hour before", from)
	}
	if took := got[2].Duration(1); took != 1500*time.Millisecond {
		t.Errorf("the call took %v, want 1.5s", took)
	}
}

func TestArgumentsAreBoundedAndValid(t *testing.T) {
	t.Parallel()
	e := event.New(at, event.Result, 500, strings.Repeat("字", event.MaxArg)+"\xff")
	if s := e.Text(1); len(s) > event.MaxArg || !utf8.ValidString(s) {
		t.Errorf("an argument of %d bytes is kept, valid: %v", len(s), utf8.ValidString(s))
	}
	if strings.Count(event.List{e}.Encode(), "\n") != 1 {
		t.Error("an event takes more than its line")
	}
}

func TestEveryArgumentStandsInTheEnglishText(t *testing.T) {
	t.Parallel()
	for key, spec := range event.Specs {
		if key != spec.Key {
			t.Errorf("%s is listed as %s", spec.Key, key)
		}
		for _, a := range spec.Args {
			internal := a.Kind == event.FlagMore || a.Name == "Node" || key == event.Waited
			if !internal && !strings.Contains(spec.English, "{"+a.Name+"}") {
				t.Errorf("%s: the English text does not name %s", key, a.Name)
			}
			if (a.Kind == event.Word) != (a.Of != "") {
				t.Errorf("%s: %s is a word without a list of words, or the other way round", key, a.Name)
			}
		}
		args := make([]any, len(spec.Args))
		for i := range args {
			args[i] = 1
		}
		if text := event.New(at, key, args...).String(); strings.ContainsAny(text, "{}") {
			t.Errorf("%s: %q has a place that is not filled", key, text)
		}
	}
}

func TestWordsAreListed(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"fault.", "route.", "misfire."} // what other packages name
	used := make(map[string]bool)
	for key, spec := range event.Specs {
		for _, a := range spec.Args {
			if a.Kind != event.Word {
				continue
			}
			used[a.Of] = true
			if _, listed := event.Vocabulary[a.Of]; listed == slices.Contains(elsewhere, a.Of) {
				t.Errorf("%s: the words of %s are named %v", key, a.Of, listed)
			}
		}
	}
	for of := range event.Vocabulary {
		if !used[of] {
			t.Errorf("no event has words of %s", of)
		}
	}
}

func TestEnglish(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 8*3600)
	for want, e := range map[string]event.Event{
		"stands for more than 1000 fires planned from 2025-11-22 10:53:20 +0800 to 2025-11-22 10:53:20 +0800": event.New(at, event.StandsFor, 1000, true, at, at),
		"stands for 3 fires planned from 2025-11-22 10:53:20 +0800 to 2025-11-22 10:53:20 +0800":              event.New(at, event.StandsFor, 3, false, at, at),
		"sent to http://a/ in 3ms: 200":                          event.New(at, event.Sent, "http://a/", 3*time.Millisecond, 200, ""),
		"asked http://a/ (log): unknown":                         event.New(at, event.Asked, "http://a/", "log", "unknown", ""),
		"of-tomorrow 1 b":                                        event.New(at, "of-tomorrow", 1, "b"),
		"stands for 3 fires planned from {From} to {To} in part": {Key: "stands for 3 fires planned from {From} to {To} in part"},
	} {
		if got := e.In(zone); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, o := range event.AllOutcomes() {
		if name := o.String(); seen[name] || name == "" || strings.Contains(name, "(") {
			t.Errorf("outcome %d is called %q", int8(o), name)
		} else {
			seen[name] = true
		}
	}
	if got := event.Outcome(99).String(); got != "outcome(99)" {
		t.Errorf("an unknown outcome is called %q", got)
	}
	if event.Open.Ended() || !event.Lost.Ended() || !event.Skipped.Passed() || event.Failed.Passed() {
		t.Error("what is open, ended or passed is mixed up")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(event.List{event.New(at, event.Sent, "http://a/", time.Second, 200, "\"\n")}.Encode())
	f.Add(`["claimed",1,"a"]` + "\n" + `{"a":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		list := event.Parse(text)
		if diff := cmp.Diff(list, event.Parse(list.Encode())); diff != "" {
			t.Errorf("%q is not read back (-first +second):\n%s", text, diff)
		}
		_ = list.In(time.UTC)
	})
}

func BenchmarkEncode(b *testing.B) {
	list := event.List{event.New(at, event.Routed, "ROUND", "http://10.0.0.1:9999/", 3), event.New(at, event.Sent, "http://10.0.0.1:9999/", time.Millisecond, 200, "Success")}
	b.ReportAllocs()
	for b.Loop() {
		_ = list.Encode()
	}
}

func TestOneWriteIsBounded(t *testing.T) {
	t.Parallel()
	var list event.List
	for i := range 100 {
		list = append(list, event.New(at, event.Asked, "http://a/", event.AskBeat, event.AnswerNo, strings.Repeat("x", 1000)+strings.Repeat("y", i)))
	}
	list = append(list, event.New(at, event.Nobody))
	stored := list.Stored()
	if got := event.Parse(stored); len(stored) > event.MaxWrite || len(got) < 20 || got[len(got)-1].Key != event.Nobody {
		t.Errorf("%d bytes, %d events, the last %v", len(stored), len(got), got[len(got)-1])
	}
}
