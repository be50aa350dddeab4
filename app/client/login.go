package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Streams are where commands read and write. What programs read goes to Out, all else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// LoginCmd remembers an admin with a token.
type LoginCmd struct {
	URL    string `arg:"" help:"The admin's address, such as https://jobs.example.com."`
	Name   string `name:"as" placeholder:"NAME" help:"What to call it here; default its host."`
	Paste  bool   `help:"Paste a token instead of letting this program in with a browser."`
	CAFile string `name:"ca-file" env:"PUNCTUAL_CA_FILE" placeholder:"FILE" help:"Authorities to trust for this admin (PEM), in place of the machine's; kept with it."`
}

// Run gets a token, tries it, and keeps both.
func (c LoginCmd) Run(ctx context.Context, s Streams) error {
	if err := checkBase(c.URL); err != nil {
		return err
	}
	base := strings.TrimRight(c.URL, "/")
	name := c.Name
	if name == "" {
		u, _ := url.Parse(base)
		name = u.Host
	}
	all, err := readContexts()
	if err != nil {
		return err
	}
	caFile, err := c.authorities(all.named(name), base)
	if err != nil {
		return err
	}
	a := &api{base: base, lang: language()}
	if a.http, err = trusting(caFile); err != nil {
		return err
	}
	if terminalOf(s) != nil && !c.Paste {
		a.token, err = letIn(ctx, a, s)
	} else {
		a.token, err = readToken(ctx, s, base)
	}
	if err != nil {
		return err
	}
	if _, err := a.do(ctx, http.MethodGet, "/groups", url.Values{"limit": {"1"}}, nil); err != nil {
		return err
	}
	if all, err = readContexts(); err != nil { // somebody may have taken long in the browser
		return err
	}
	all.Contexts = slices.DeleteFunc(all.Contexts, func(n namedContext) bool { return n.Name == name })
	all.Contexts = append(all.Contexts, namedContext{Name: name, URL: base, Token: a.token, CAFile: caFile})
	all.Current = name
	if err := all.write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "Works with %s from now on.\n", name)
	return err
}

// authorities is the file of those to trust, wherever later commands are called: the one that is named, or the one from before.
func (c LoginCmd) authorities(before *namedContext, base string) (string, error) {
	if c.CAFile != "" {
		return filepath.Abs(c.CAFile)
	}
	if before != nil && before.URL == base {
		return before.CAFile, nil
	}
	return "", nil
}

// letIn asks the admin for a token, which somebody signed in there grants in a browser.
func letIn(ctx context.Context, a *api, s Streams) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = runtime.GOOS
	}
	program := []rune("punctual on " + host)
	var asked struct {
		Device   string `json:"device_code"`
		Code     string `json:"user_code"`
		Path     string `json:"verification_path"`
		Interval int    `json:"interval"`
	}
	if err := a.ask(ctx, &asked, http.MethodPost, "/device-logins", nil, map[string]string{"program": string(program[:min(len(program), 40)])}); err != nil {
		return "", err
	}
	fmt.Fprintf(s.Err, "Open %s in a browser and compare the code:\n\n    %s\n\n", plain(a.base+asked.Path), plain(asked.Code))
	a = a.patient(s.Err, true)
	a.same = true
	wait := time.NewTicker(time.Duration(max(asked.Interval, 1)) * time.Second)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", interrupted(ctx)
		case <-wait.C:
		}
		var answer struct{ State, Token string }
		if err := a.ask(ctx, &answer, http.MethodPost, "/device-logins/token", nil, map[string]string{"device_code": asked.Device}); err != nil {
			return "", err
		}
		switch answer.State {
		case "approved":
			return answer.Token, nil
		case "refused":
			return "", errors.New("it was refused in the browser")
		case "expired":
			return "", errors.New("nobody has let it in in time; punctual login asks again")
		}
	}
}

// ContextCmd shows the admins that were logged in to, and changes between them.
type ContextCmd struct {
	List   contextList   `cmd:"" default:"1" help:"Show them."`
	Use    contextUse    `cmd:"" help:"Work with another one."`
	Forget contextForget `cmd:"" help:"Forget one with its token."`
}

type contextList struct{}

type contextUse struct {
	Name string `arg:"" complete:"contexts" help:"What login called the admin."`
}

type contextForget struct {
	Name string `arg:"" complete:"contexts" help:"What login called the admin."`
}

func (contextList) Run(s Streams) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	if base := os.Getenv("PUNCTUAL_URL"); base != "" {
		fmt.Fprintf(s.Err, "commands work with %s, as PUNCTUAL_URL says, and not with the current context\n", base)
	} else if len(all.Contexts) == 0 {
		return errNoTarget
	}
	items := make([]item, len(all.Contexts))
	for n, c := range all.Contexts {
		items[n] = item{"name": c.Name, "url": c.URL, "current": ""}
		if c.Name == all.Current {
			items[n]["current"] = "current"
		}
	}
	return printer{out: s.Out, format: "table"}.table(items, []column{field("NAME", "name"), field("URL", "url"), field("CURRENT", "current")})
}

func (c contextUse) Run() error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	if all.named(c.Name) == nil {
		return fmt.Errorf("there is no context %q; punctual context shows those there are", c.Name)
	}
	all.Current = c.Name
	return all.write()
}

func (c contextForget) Run() error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	if all.named(c.Name) == nil {
		return fmt.Errorf("there is no context %q; punctual context shows those there are", c.Name)
	}
	all.Contexts = slices.DeleteFunc(all.Contexts, func(n namedContext) bool { return n.Name == c.Name })
	if all.Current == c.Name {
		all.Current = ""
	}
	return all.write()
}
