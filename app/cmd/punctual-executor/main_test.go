package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestACommandLineIsNoParameterUnlessSomebodySaysSo(t *testing.T) {
	for _, tt := range []struct {
		env  string
		args []string
		want bool
	}{
		{"", nil, false},
		{"false", nil, false},
		{"false", []string{"--command"}, true},
		{"true", nil, true},
	} {
		t.Setenv("PUNCTUAL_EXECUTOR_COMMAND", tt.env)
		if tt.env == "" {
			os.Unsetenv("PUNCTUAL_EXECUTOR_COMMAND")
		}
		var s settings
		parser, err := kong.New(&s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if s.Serve.Command != tt.want {
			t.Errorf("%v with %q in the environment: command %v, want %v", tt.args, tt.env, s.Serve.Command, tt.want)
		}
	}
}

// TestTheLicencesArePrinted asks for them without any setting.
func TestTheLicencesArePrinted(t *testing.T) {
	var out, err bytes.Buffer
	if code := run([]string{"licences"}, &out, &err); code != 0 || err.Len() != 0 {
		t.Fatalf("exit code %d, %s", code, err.String())
	}
	for _, want := range []string{"github.com/alecthomas/kong", "Permission is hereby granted", "The Go Authors"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is nothing of %q in %d bytes", want, out.Len())
		}
	}
}
