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

// TestAnEmptyVariableIsNotSet starts it as an env file with blanks does, up to a wrong setting.
func TestAnEmptyVariableIsNotSet(t *testing.T) {
	for _, name := range []string{"ADMIN", "GLUE", "PULL", "LOG_RETENTION_DAYS", "DRAIN_TIMEOUT", "LOG_FORMAT", "LOG_LEVEL"} {
		t.Setenv("PUNCTUAL_EXECUTOR_"+name, "")
	}
	var out, err bytes.Buffer
	if code := run([]string{"--access-token", "some-lamp-otter-1", "--data-dir", t.TempDir(), "--tls-cert", "there-is-none.pem"}, &out, &err); code != 2 || !strings.Contains(err.String(), "a certificate needs two files") {
		t.Errorf("exit code %d: %s", code, err.String())
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

// TestAMisspeltVariableIsNamed starts it with a wrong setting, which ends it after what it has to say.
func TestAMisspeltVariableIsNamed(t *testing.T) {
	t.Setenv("PUNCTUAL_EXECUTOR_APPNAME", "x")
	t.Setenv("PUNCTUAL_EXECUTOR_ALLOW", "*")  // the admin's
	t.Setenv("PUNCTUAL_ACCESS_TOKEN", "some") // too
	var out, err bytes.Buffer
	code := run([]string{"--access-token", "some-lamp-otter-1", "--data-dir", t.TempDir(), "--tls-cert", "there-is-none.pem"}, &out, &err)
	if code != 2 {
		t.Errorf("exit code %d", code)
	}
	if want := "variable=PUNCTUAL_EXECUTOR_APPNAME meant=PUNCTUAL_EXECUTOR_APP_NAME"; !strings.Contains(err.String(), want) || strings.Count(err.String(), "counts for nothing") != 1 {
		t.Errorf("%q is not all that is said of variables in\n%s", want, err.String())
	}
}
