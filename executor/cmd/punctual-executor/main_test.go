package main

import (
	"os"
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
