package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/punctual-job/punctual/deploy"
)

const root = "../../.."

// TestWhatIsDeployedStarts reads the settings of each container of deploy/ that runs this program, as it does itself.
func TestWhatIsDeployedStarts(t *testing.T) {
	all, err := deploy.Containers(root)
	if err != nil {
		t.Fatal(err)
	}
	seen, pulls := 0, 0
	for _, c := range all {
		if c.Program() != "punctual-executor" {
			continue
		}
		seen++
		t.Run(filepath.Base(c.File)+" "+c.Name, func(t *testing.T) {
			for name, value := range c.Env {
				if strings.HasPrefix(name, "PUNCTUAL_") && !slices.Contains(ownVariables(), name) {
					t.Errorf("nothing reads %s", name)
				}
				if strings.HasSuffix(name, "_FILE") && !slices.ContainsFunc(c.Folders, func(f string) bool { return filepath.Dir(value) == f }) {
					t.Errorf("%s is %s, where nothing is mounted", name, value)
				}
				t.Setenv(name, value)
			}
			if chosen, _ := parse(t, c.Args); chosen != "serve" {
				t.Errorf("%q starts %s", c.Args, chosen)
			}
			_, s := parse(t, c.Args)
			if s.Serve.Pull {
				pulls++
				if len(c.Ports) != 0 || s.Serve.Address != "" {
					t.Errorf("it asks, and yet has the ports %v and the address %q", c.Ports, s.Serve.Address)
				}
			}
			for _, admin := range s.Serve.Admin {
				if s.Serve.Pull && admin == "https://jobs.example.com" { // from elsewhere, by the name of the ingress
					continue
				}
				u, err := url.Parse(admin)
				if err != nil {
					t.Fatal(err)
				}
				if port, ok := c.Known[u.Hostname()]; !ok || strconv.Itoa(port) != u.Port() {
					t.Errorf("its admin is %s, but there is %v", admin, c.Known)
				}
			}
			_, port, err := net.SplitHostPort(s.Serve.Listen)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.PortOf("executor"); got != 0 && strconv.Itoa(got) != port {
				t.Errorf("its port is %d, and it listens at %s", got, port)
			}
			if s.Serve.Address != "" && !strings.HasSuffix(s.Serve.Address, ":"+port) {
				t.Errorf("it registers %s, and listens at %s", s.Serve.Address, port)
			}
			for _, p := range c.Probes {
				if len(p.Command) < 2 || p.Command[0] != "/usr/bin/punctual-executor" {
					t.Fatalf("it is asked by %q", p.Command)
				}
				chosen, asked := parse(t, p.Command[1:])
				if chosen != "health" {
					t.Errorf("%q asks nothing", p.Command)
				}
				if asked.Health.Pull != s.Serve.Pull || asked.Health.DataDir != s.Serve.DataDir {
					t.Errorf("%q asks another executor", p.Command)
				}
			}
			if need := c.Before + s.Serve.DrainTimeout + 10*time.Second; c.Grace < need {
				t.Errorf("it is killed after %s, and may take %s", c.Grace, need)
			}
			if !slices.Contains(c.Folders, "/data") {
				t.Errorf("its journal is lost with it: %q", c.Folders)
			}
		})
	}
	if seen < 9 || pulls < 3 {
		t.Errorf("%d executors, of which %d ask", seen, pulls)
	}
}

func parse(t *testing.T, args []string) (string, settings) {
	t.Helper()
	var s settings
	parser, err := kong.New(&s, kong.Vars{"version": "test"})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return chosen.Command(), s
}

var variableName = regexp.MustCompile(`PUNCTUAL_EXECUTOR_[A-Z_]*[A-Z]`)

// TestNothingDeployedIsMisspelt looks for variables also where no container has them.
func TestNothingDeployedIsMisspelt(t *testing.T) {
	known := append(ownVariables(), adminVariables...)
	seen := 0
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range variableName.FindAllString(string(text), -1) {
			seen++
			if !slices.Contains(known, name) {
				t.Errorf("%s names %s, which nothing reads", path, name)
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("%d variables, %v", seen, err)
	}
}
