package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/deploy"
	"github.com/punctual-job/punctual/executor/executortest"
)

const root = "../../.."

// deployed are the containers of deploy/ that run this program.
func deployed(t *testing.T) []deploy.Container {
	t.Helper()
	all, err := deploy.Containers(root)
	if err != nil {
		t.Fatal(err)
	}
	own := slices.DeleteFunc(all, func(c deploy.Container) bool { return c.Program() != "punctual" })
	if len(own) < 8 {
		t.Fatalf("%d containers", len(own))
	}
	return own
}

// TestWhatIsDeployedStarts reads the settings of each container as the program does: there is each variable, and it has a value that
// is taken, and each file is where something is mounted.
func TestWhatIsDeployedStarts(t *testing.T) {
	for _, c := range deployed(t) {
		t.Run(filepath.Base(c.File)+" "+c.Name, func(t *testing.T) {
			for name, value := range c.Env {
				if strings.HasPrefix(name, "PUNCTUAL_") && !slices.Contains(ownVariables(), name) {
					t.Errorf("nothing reads %s", name)
				}
				if strings.HasSuffix(name, "_FILE") {
					if !slices.ContainsFunc(c.Folders, func(f string) bool { return filepath.Dir(value) == f }) {
						t.Errorf("%s is %s, where nothing is mounted", name, value)
					}
					value = secretFile(t, name)
				}
				t.Setenv(name, compose.ReplaceAllString(value, "$1"))
			}
			var s serveCmd
			if chosen := command(t, append([]string{"punctual"}, c.Args...)); chosen != "serve" {
				t.Errorf("%q starts %s", c.Args, chosen)
			}
			parser, err := kong.New(&s, words)
			if err == nil {
				_, err = parser.Parse(nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			o, err := s.options(streams{err: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := c.PortOf("http"), portOf(t, o.Listen); got != want {
				t.Errorf("port %d is the console's, which listens at %d", got, want)
			}
			for _, p := range c.Probes {
				if p.Path != "" && c.PortOf(p.Port) != portOf(t, o.AdminListen) {
					t.Errorf("%s is asked at port %q, operators at %s", p.Path, p.Port, o.AdminListen)
				}
			}
			// A stop drains, and then the engine and the listeners have some seconds more.
			if need := c.Before + o.DrainTimeout + 10*time.Second; c.Grace < need {
				t.Errorf("it is killed after %s, and may take %s", c.Grace, need)
			}
		})
	}
}

// compose is how a file of Compose takes a variable of the operator's.
var compose = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

// secretFile is what an operator would have put into the file of a variable.
func secretFile(t *testing.T, variable string) string {
	t.Helper()
	text := strings.Repeat("lamp-otter-", 4)
	if variable == "PUNCTUAL_DATABASE_URL_FILE" {
		text = "mysql://punctual:secret@db:3306/punctual"
	}
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command is the name of the command that a command line chooses; its first word is the program.
func command(t *testing.T, line []string) string {
	t.Helper()
	var c commands
	parser, err := kong.New(&c, words, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := parser.Parse(line[1:])
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return chosen.Command()
}

func portOf(t *testing.T, listen string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

var monitored = regexp.MustCompile(`path: (/metrics\S*),`)

// TestWhatIsAskedIsAnswered asks an admin all that the probes and the monitors ask.
func TestWhatIsAskedIsAnswered(t *testing.T) {
	address := "127.0.0.1:" + executortest.FreePort(t)
	a, err := app.New(t.Context(), app.Options{DataDir: t.TempDir(), Listen: "127.0.0.1:0", AdminListen: address, Sample: app.SampleOff, UnsafeDB: true})
	if err == nil {
		err = a.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	paths := make(map[string]bool)
	for _, c := range deployed(t) {
		for _, p := range c.Probes {
			paths[p.Path] = true
		}
	}
	for _, file := range []string{"deploy/kubernetes/servicemonitor.yaml", "deploy/helm/punctual/templates/admin.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		found := monitored.FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s monitors nothing", file)
		}
		paths[string(found[1])] = true
	}
	if len(paths) != 3 {
		t.Errorf("asked: %v", paths)
	}
	for path := range paths {
		executortest.Eventually(t, path, func() error { // a busy machine is not ready at each moment
			answer, err := http.Get("http://" + address + path)
			if err != nil {
				return err
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("it answers %s", answer.Status)
			}
			return nil
		})
	}
}

var (
	variableName = regexp.MustCompile(`PUNCTUAL_[A-Z_]*[A-Z]`)
	probeCommand = regexp.MustCompile(`/usr/bin/punctual [a-z]+( /\S+)?`)
)

// TestServicesAreNotGivenUp: systemd stops a service of which the kernel kills one process for its memory, such as a job's script, and
// gives one up that ends five times in ten seconds, such as before a database that is not there yet. Both are on purpose elsewhere.
func TestServicesAreNotGivenUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"punctual", "punctual-executor"} {
		unit, err := os.ReadFile(filepath.Join(root, "deploy/systemd", name+".service"))
		if err != nil {
			t.Fatal(err)
		}
		head, service, _ := strings.Cut(string(unit), "[Service]\n")
		if !strings.Contains(head, "\nStartLimitIntervalSec=0\n") {
			t.Errorf("%s is given up when it cannot start for a while", name)
		}
		for _, line := range []string{"OOMPolicy=continue", "Restart=on-failure"} {
			if !strings.Contains(service, "\n"+line+"\n") {
				t.Errorf("%s has no %s", name, line)
			}
		}
	}
}

// TestNothingDeployedIsMisspelt looks for variables and commands also where no container has them: in comments, units, packages and
// the chart's templates.
func TestNothingDeployedIsMisspelt(t *testing.T) {
	known := append(ownVariables(), "PUNCTUAL_VERSION") // of the Compose files themselves
	seen := 0
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range variableName.FindAllString(string(text), -1) {
			seen++
			if !slices.Contains(known, name) && !strings.HasPrefix(name, "PUNCTUAL_EXECUTOR_") {
				t.Errorf("%s names %s, which nothing reads", path, name)
			}
		}
		for _, line := range probeCommand.FindAllString(string(text), -1) {
			command(t, strings.Fields(line)) // fails for what is none
		}
		return nil
	})
	if err != nil || seen < 60 {
		t.Errorf("%d variables, %v", seen, err)
	}
}
