package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
)

// Run sets the password and says a random one.
func (c *resetPasswordCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	password, err := c.password(s)
	if err != nil {
		return err
	}
	made, err := app.ResetPassword(context.Background(), o, c.Name, password)
	if err != nil {
		return err
	}
	if password != "" {
		_, err = fmt.Fprintln(s.out, "the password is changed, and all sessions of the user have ended")
		return err
	}
	_, err = fmt.Fprintln(s.out, made)
	return err
}

// password is the new one, from wherever it was asked to come; "" for a random one.
func (c *resetPasswordCmd) password(s streams) (string, error) {
	ways := 0
	for _, chosen := range []bool{c.Password != "", c.Prompt, c.Stdin} {
		if chosen {
			ways++
		}
	}
	switch {
	case ways > 1:
		return "", setting("user reset-password", errors.New("choose one of --password, --prompt and --stdin"))
	case c.Prompt:
		return promptPassword(s)
	case c.Stdin:
		return readPassword(s.in)
	}
	return c.Password, nil
}

// readPassword reads the first line.
func readPassword(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 2*auth.MaxPasswordBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", setting("--stdin", errors.New("there is no password on the first line"))
	}
	return line, nil
}

// promptPassword asks on the terminal, which shows nothing of it.
func promptPassword(s streams) (string, error) {
	in, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", setting("--prompt", errors.New("standard input is no terminal; use --stdin"))
	}
	defer restoredOnInterrupt(int(in.Fd()), s.err)()
	var typed [2]string
	for i, ask := range []string{"New password: ", "Again: "} {
		fmt.Fprint(s.err, ask)
		line, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(s.err)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(line)
	}
	switch {
	case typed[0] == "":
		return "", setting("--prompt", errors.New("no password was typed"))
	case typed[0] != typed[1]:
		return "", setting("--prompt", errors.New("the two passwords are not the same"))
	}
	return typed[0], nil
}

// restoredOnInterrupt gives the terminal its echo back if somebody interrupts the question, until the returned function is called.
func restoredOnInterrupt(fd int, stderr io.Writer) (end func()) {
	state, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, some := <-interrupts; some {
			_ = term.Restore(fd, state)
			fmt.Fprintln(stderr)
			os.Exit(128 + int(syscall.SIGINT))
		}
	}()
	return func() {
		signal.Stop(interrupts)
		close(interrupts)
	}
}

// Run drops the second factors of a user, whose sessions end too.
func (c *resetSecondFactorCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if err := app.ResetSecondFactor(context.Background(), o, c.Name); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "the user has no second factor any more, and all their sessions have ended")
	return err
}

// Run prints the token, alone on standard output.
func (c *createTokenCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	token, err := app.CreateToken(context.Background(), o, app.TokenRequest{Account: c.Account, Name: c.Name, Scope: c.Scope, Days: c.Days})
	if p, refused := errors.AsType[*problem.Error](err); refused {
		return c.refused(p)
	} else if err != nil {
		return err
	}
	fmt.Fprintln(s.err, "the token is told this once")
	_, err = fmt.Fprintln(s.out, token)
	return err
}

// refused names what of the command is refused, as it is typed.
func (c *createTokenCmd) refused(p *problem.Error) error {
	if p.Key != "" || len(p.Fields) == 0 {
		return setting("user create-token", inWords(p))
	}
	words := locales.New().Printer(locales.English)
	var list []string
	for _, f := range p.Fields {
		typed := f.Name
		switch f.Name {
		case app.TokenAccount:
			typed = fmt.Sprintf("<account> %q", c.Account)
		case manage.APITokenName:
			typed = fmt.Sprintf("<name> %q", c.Name)
		case manage.APITokenDays:
			typed = fmt.Sprintf("--days %d", c.Days)
		case manage.APITokenScope:
			typed = "--scope " + strings.Join(c.Scope, ",")
		}
		list = append(list, typed+": "+f.Text(words))
	}
	return setting("user create-token", errors.New(strings.Join(list, "; ")))
}
