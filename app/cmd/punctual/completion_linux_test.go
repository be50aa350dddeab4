package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestABrokenWordIsCompletedInBash types into a bash on a terminal: it takes words apart where a name has a colon and the like, and puts what is
// completed in the place of the last part alone.
func TestABrokenWordIsCompletedInBash(t *testing.T) {
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("there is no bash")
	}
	bin, home := t.TempDir(), t.TempDir()
	playing(t, bin)
	if err := os.WriteFile(home+"/contexts.yaml", []byte(`contexts: [{name: "a b"}, {name: "etl:load:day"}, {name: "etl:load:night 日"}, {name: "me@host"}, {name: "k=v"}, {name: "::x"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	x := newTerminal(t)
	cmd := exec.CommandContext(t.Context(), program, "--norc", "--noprofile", "-i")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.other, x.other, x.other
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = []string{"PLAY_PUNCTUAL=1", "PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "PUNCTUAL_CONTEXTS=" + home + "/contexts.yaml", "LC_ALL=C.UTF-8", "TERM=dumb", "INPUTRC=/dev/null", "PS1=ready "}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = x.keys.WriteString("\x15exit\n"); _ = cmd.Wait() })
	x.until("ready ")
	_, _ = x.keys.WriteString("source <(punctual completion bash); echo so\"urced\"\n")
	x.until("sourced")
	for line, want := range map[string]string{
		`context use etl:load:n`:       "context|use|etl:load:night 日|",
		`context use etl`:              "context|use|etl:load:|", // what both have
		`context use etl:`:             "context|use|etl:load:|",
		`context use et\l:load:d`:      "context|use|etl:load:day|",
		`context use 'etl:load:n`:      "context|use|etl:load:night 日|",
		`context use "etl:load:n`:      "context|use|etl:load:night 日|",
		`context use ::`:               "context|use|::x|",
		`context use me@h`:             "context|use|me@host|",
		`context use me@`:              "context|use|me@host|",
		`context use k=`:               "context|use|k=v|",
		`context use a`:                "context|use|a b|",
		`jobs --state=ru`:              "jobs|--state=running|",
		`jobs --state ru`:              "jobs|--state|running|",
		`jobs --text x:y@z --state ru`: "jobs|--text|x:y@z|--state|running|",
	} {
		from := x.said.Len()
		_, _ = x.keys.WriteString("punctual " + line + "\t\x01printf '%s|' \x05; echo do\"ne\"\n")
		x.until("|done")
		said := x.said.String()[from:]
		said = said[strings.LastIndex(said, "\n")+1:]
		if !strings.HasSuffix(said, "punctual|"+want+"done") {
			t.Errorf("%s becomes\n%s\nwant\n%s", line, said, want)
		}
	}
}
