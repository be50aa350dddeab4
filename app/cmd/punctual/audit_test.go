package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/account"
	"github.com/punctual-job/punctual/scheduler/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTheAccountIsPrinted(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	at := func(minute int64) int64 { return day.UnixMilli() + minute*60_000 }
	r := account.NewReport(at(0), at(24*60), 2)
	orders := account.Job{ID: 7, Name: "close the day"}
	none := event.Event{}
	skipped := event.New(day, event.SkippedFires, 2, false, at(2), at(3), "DO_NOTHING")
	r.Add(orders, []account.Finding{
		{At: at(1), Class: account.OnTime, Run: 1, Why: none}, {At: at(2), Class: account.Skipped, Run: 2, Why: skipped}, {At: at(3), Class: account.Skipped, Run: 2, Why: skipped},
		{At: at(4), Class: account.Missing, Why: none}, {At: at(5), Class: account.Doubled, Run: 3, Why: event.New(day, account.WhyTwice, 4)},
		{At: at(6), Class: account.Late, Run: 5, Why: event.New(day, event.Late, 1500*time.Millisecond, event.LateQueue)}, {At: at(7), Class: account.Late, Run: 6, Why: none}, {At: at(8), Class: account.Late, Run: 7, Why: none},
	})
	r.Note(account.Note{Job: account.Job{ID: 8, Name: "b"}, Kind: account.KnownSince, At: at(30)})
	r.Jobs = 2
	r.Close()
	var text, json bytes.Buffer
	if err := writeReport(&text, r, time.UTC); err != nil {
		t.Fatal(err)
	}
	if err := writeReportJSON(&json, r); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"audit.txt": text.String(), "audit.json": json.String()} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAMomentOfTheAudit(t *testing.T) {
	t.Parallel()
	now, zone := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC), time.FixedZone("", 8*3600)
	for text, want := range map[string]string{
		"24h": "2026-03-04T12:00:00Z", "2026-03-04": "2026-03-03T16:00:00Z", "2026-03-04 08:00:01": "2026-03-04T00:00:01Z", "2026-03-04T08:00": "2026-03-04T00:00:00Z",
		"2026-03-04T08:00:00+01:00": "2026-03-04T07:00:00Z",
	} {
		if got, err := moment(text, now, zone); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-1h", "2026-13-01"} {
		if got, err := moment(text, now, zone); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestTheAuditSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"audit"}, 2, "--from"},
		{[]string{"audit", "--from", "tomorrow"}, 2, "tomorrow"},
		{[]string{"audit", "--from", "1h", "--to", "2h"}, 2, "is not before"},
		{[]string{"audit", "--from", "1h", "--data-dir", t.TempDir()}, 1, "there is no embedded database in"},
	} {
		var out, err bytes.Buffer
		if code := run(c.args, &out, &err); code != c.code || !strings.Contains(err.String(), c.err) {
			t.Errorf("%v: exit code %d, %q; want %d and %q", c.args, code, err.String(), c.code, c.err)
		}
	}
}
