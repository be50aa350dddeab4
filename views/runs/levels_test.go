package runs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLevelsOfLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want Level
	}{
		{"2026-11-23 02:00:03.001 ERROR c.e.Settle - boom", LevelError},
		{"10:00:00 [main] WARN  x", LevelWarn},
		{"WARNING: old", LevelWarn},
		{"10:00:00 INFO no ERROR at all", LevelInfo},
		{"\x1b[31mERROR\x1b[0m x", LevelError},
		{`{"time":"…","level":"warn","msg":"x"}`, LevelWarn},
		{`time=… level=error msg=x`, LevelError},
		{"[DEBUG] x", LevelDebug},
		{"java.sql.SQLException: no", LevelError},
		{"errors: 0", ""},
		{"TERROR", ""},
		{"level ground", ""},
		{strings.Repeat("x ", 200) + "ERROR", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := levelsOf([]string{tt.line}, "")[0]; got != tt.want {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
	}
	trace := []string{"\tat a.b(C.java:1)", "INFO go on", "  indented", "WARN x", "java.io.IOException", "\tat x", "Caused by: y", "plain"}
	want := []Level{"e", "i", "i", "w", "e", "e", "e", ""}
	if diff := cmp.Diff(want, levelsOf(trace, LevelError)); diff != "" {
		t.Error(diff)
	}
}

func TestTheCauseInTheOutput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, output string
		want         Cause
	}{
		{"nothing", "one\ntwo", Cause{}},
		{"a trace of Java", "INFO a\nERROR cannot settle\njava.sql.SQLException: no\n\tat a.b\nCaused by: java.net.ConnectException: refused\n\t... 3 more\nINFO end", Cause{Line: 12, Text: "java.sql.SQLException: no", Trace: true}},
		{"the last of two", "a.BException: one\n\tat x\nb.CError: two\n\tat y", Cause{Line: 12, Text: "b.CError: two", Trace: true}},
		{"of a thread", `Exception in thread "main" java.lang.IllegalStateException: <b>` + "\n\tat x", Cause{Line: 10, Text: `Exception in thread "main" java.lang.IllegalStateException: <b>`, Trace: true}},
		{"of Python", "start\nTraceback (most recent call last):\n  File \"x\", line 1\n    boom()\nmy.module.Boom: no", Cause{Line: 14, Text: "my.module.Boom: no", Trace: true}},
		{"of Go", "panic: boom\n\ngoroutine 1 [running]:", Cause{Line: 10, Text: "panic: boom", Trace: true}},
		{"of Node", "/a.js:1\nTypeError: x is no function\n    at y", Cause{Line: 11, Text: "TypeError: x is no function", Trace: true}},
		{"a line that calls itself an error", "WARN a\n10:00 ERROR b\nINFO c", Cause{Line: 11, Text: "10:00 ERROR b"}},
		{"coloured", "\x1b[31mERROR\x1b[0m \u202eb", Cause{Line: 10, Text: "ERROR \ufffdb"}},
		{"long", "ERROR " + strings.Repeat("é", 300), Cause{Line: 10, Text: "ERROR " + strings.Repeat("é", 197) + "…"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, CauseOf(strings.Split(tt.output, "\n"), 10)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
