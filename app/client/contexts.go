package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// contexts are the admins that somebody works with, in a file of theirs alone.
type contexts struct {
	Current  string         `yaml:"current"`
	Contexts []namedContext `yaml:"contexts"`
}

type namedContext struct {
	Name  string `yaml:"name"`
	URL   string `yaml:"url"`
	Token string `yaml:"token"`
	// CAFile holds the authorities to trust; empty: the system's.
	CAFile string `yaml:"ca_file,omitempty"`
}

func (c *contexts) named(name string) *namedContext {
	for i := range c.Contexts {
		if c.Contexts[i].Name == name {
			return &c.Contexts[i]
		}
	}
	return nil
}

// ContextsVariable names the file of the contexts, if it is another.
const ContextsVariable = "PUNCTUAL_CONTEXTS"

// contextsFile is where they are.
func contextsFile() (string, error) {
	if path := os.Getenv(ContextsVariable); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("where contexts are kept: %w", err)
	}
	return filepath.Join(dir, "punctual", "contexts.yaml"), nil
}

func readContexts() (contexts, error) {
	var c contexts
	path, err := contextsFile()
	if err != nil {
		return c, err
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return c, err
	}
	if err := yaml.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// write keeps them where only their owner reads them; a crash leaves the old file or the new one.
func (c contexts) write() error {
	path, err := contextsFile()
	if err != nil {
		return err
	}
	raw, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// Admin says with which admin a command works.
type Admin struct {
	Context string `env:"PUNCTUAL_CONTEXT" placeholder:"NAME" complete:"contexts" help:"The admin to work with, as login called it; default the current one."`
	URL     string `env:"PUNCTUAL_URL" placeholder:"URL" help:"The admin to work with, without a context."`
	Token   string `secret:"" env:"PUNCTUAL_TOKEN" help:"The API token to show it; better in the environment, where other users do not see it."`
	CAFile  string `name:"ca-file" env:"PUNCTUAL_CA_FILE" placeholder:"FILE" help:"Authorities to trust for an admin with an https address (PEM), in place of the machine's; default those that login was given."`
}

// AfterApply says that others on this machine can read the tokens of the contexts, as after a copy or a backup that was put back.
func (t Admin) AfterApply(of *kong.Context) error {
	if t.URL != "" || t.Token != "" || runtime.GOOS == "windows" { // whose modes say nothing of readers
		return nil
	}
	path, err := contextsFile()
	if err != nil {
		return nil //nolint:nilerr // whoever reads the file says so
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(of.Stderr, "punctual: others on this machine may read the tokens in %s (mode %04o); take that away with: chmod 600 %[1]s\n", path, info.Mode().Perm())
	}
	return nil
}

// Target is that, and how the command prints.
type Target struct {
	Admin
	Output string `short:"o" enum:"table,wide,json,yaml,name" default:"table" help:"table, wide, json, yaml or name."`
}

var errNoTarget = errors.New("which admin? Use punctual login URL once, or set PUNCTUAL_URL and PUNCTUAL_TOKEN")

// api is how the admin is called.
func (t Admin) api() (*api, error) {
	a, err := t.reached()
	if err == nil && a.token == "" {
		return nil, errors.New("an API token is needed: punctual login URL, or PUNCTUAL_TOKEN")
	}
	return a, err
}

// reached is how the admin is called, with a token or without.
func (t Admin) reached() (*api, error) {
	a := &api{base: t.URL, token: t.Token, lang: language()}
	caFile := t.CAFile
	if t.URL != "" && t.Context != "" { // one of them may be in the environment, and forgotten
		return nil, fmt.Errorf("both the context %q and the address %s are given (--context or PUNCTUAL_CONTEXT, --url or PUNCTUAL_URL); leave one out", t.Context, t.URL)
	}
	if a.base == "" {
		all, err := readContexts()
		if err != nil {
			return nil, err
		}
		name := t.Context
		if name == "" {
			name = all.Current
		}
		c := all.named(name)
		switch {
		case c == nil && name == "":
			return nil, errNoTarget
		case c == nil:
			return nil, fmt.Errorf("there is no context %q; punctual context shows those there are", name)
		}
		a.base = c.URL
		if a.token == "" {
			a.token = c.Token
		}
		if caFile == "" {
			caFile = c.CAFile
		}
	}
	if err := checkBase(a.base); err != nil {
		return nil, err
	}
	var err error
	a.http, err = trusting(caFile)
	return a, err
}

// trusting is how an admin is called whose certificate is of an authority in a file; of one of the system's if there is none.
func trusting(caFile string) (*http.Client, error) {
	c := &http.Client{CheckRedirect: neverRedirect}
	if caFile == "" {
		return c, nil
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("the authorities to trust: %w; name their file with --ca-file, or anew with punctual login", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the authorities to trust: %s has no certificate (PEM)", caFile)
	}
	way := http.DefaultTransport.(*http.Transport).Clone()
	way.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	c.Transport = way
	return c, nil
}

// neverRedirect keeps the token from going elsewhere.
func neverRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(base, "?#") {
		return fmt.Errorf("%q is not the address of an admin; write one such as https://jobs.example.com", base)
	}
	return nil
}
