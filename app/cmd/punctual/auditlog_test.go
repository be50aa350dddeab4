package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/db"
)

// onDatabase does something with the embedded database of a folder.
func onDatabase(t *testing.T, dir string, do func(pool *db.Pool) error) {
	t.Helper()
	pool, err := db.Open(t.Context(), db.Config{DataDir: dir, Zone: time.UTC, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(do(pool), pool.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTheCheckOfTheAuditLogSaysByItsExitCode checks a whole log, one that somebody changed, and none.
func TestTheCheckOfTheAuditLogSaysByItsExitCode(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	a, err := app.New(t.Context(), app.Options{DataDir: data, Listen: "127.0.0.1:0", Sample: app.SampleOff, HTTPJobs: app.SampleOff, Logger: quiet})
	if err == nil {
		err = errors.Join(a.Start(t.Context()), a.Stop(t.Context()))
	}
	for range 3 {
		if err == nil {
			_, err = app.ResetPassword(t.Context(), app.Options{DataDir: data, Logger: quiet}, "admin", "")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	onDatabase(t, data, func(pool *db.Pool) error { return auditlog.New(pool, quiet).ExtendAll(t.Context()) })
	verify := func(args ...string) (int, string, string) {
		var out, err bytes.Buffer
		code := run(append([]string{"audit-log", "verify", "--data-dir", data}, args...), &out, &err)
		return code, out.String(), err.String()
	}
	is := func(what string, want int, says string, args ...string) (out string) {
		t.Helper()
		code, out, stderr := verify(args...)
		if code != want || !strings.Contains(out+stderr, says) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s%s", what, code, want, says, out, stderr)
		}
		return out
	}
	out := is("a whole one", 0, "\nwhole, up to 3:")
	_, place, _ := strings.Cut(strings.TrimSpace(out), "whole, up to ")
	is("a place that was known", 0, "whole", "--known", place)
	is("as JSON", 0, `"ok":true`, "--output", "json")
	is("another log than the one that was known", 1, "was written anew", "--known", "2:"+strings.Repeat("0", 64))
	is("a place that is not there", 1, "are missing", "--known", "9:"+strings.Repeat("0", 64))
	is("no place", 2, "--known", "--known", "x")
	is("a flag that there is not", 2, "--nonsense", "--nonsense")
	is("no database", 3, "there is no embedded database in", "--data-dir", t.TempDir())
	is("no server", 3, "", "--database-url", "mysql://nobody@127.0.0.1:1/nothing")
	onDatabase(t, data, func(pool *db.Pool) error {
		_, err := pool.ExecContext(t.Context(), "UPDATE punctual_audit SET user_name = 'somebody else' WHERE seq = 2")
		return err
	})
	is("a changed entry", 1, "BROKEN: the entry at place 2")
	is("a changed entry, as JSON", 1, `"why":"changed"`, "--output", "json")
}
