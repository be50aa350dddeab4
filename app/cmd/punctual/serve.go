package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/executor/logpipe"
)

// Run serves until SIGINT or SIGTERM, then drains; a second signal ends the program at once. lost is how many lines of the log were.
func (c *serveCmd) Run(s streams, lost func() int64) error {
	logpipe.OutliveReader()
	o, err := c.options(s)
	if err != nil {
		return err
	}
	o.LogLost = lost
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	a, err := app.New(ctx, o)
	if err != nil {
		return err
	}
	if err := a.Start(ctx); err != nil {
		// An administrator may have been made before the start failed, with a password that is said nowhere else.
		if w := a.Welcome(); w.FirstPassword != "" {
			fmt.Fprintf(s.out, "User %s, password %s: written down by nobody else, and good for the next start, unless that says another one.\n", w.FirstUser, w.FirstPassword)
		}
		return err
	}
	welcome(s.out, a.Welcome())
	go paceGarbage(ctx)
	context.AfterFunc(ctx, cancel) // from now on a signal has its usual effect again
	return bounded(ctx, o.DrainTimeout+stopSlack, a.Run)
}

// stopSlack is for what a stop does beside sending what is claimed. It is twice as long as that takes at most while every call is answered.
const stopSlack = 10 * time.Second

// bounded runs until run ends, or, once ctx has, for so much longer at most: a disk that does not answer holds whoever calls it, and nothing
// but the end of the process is left then. It is no more to the database than a crash.
func bounded(ctx context.Context, longest time.Duration, run func(context.Context) error) error {
	ended, late := make(chan error, 1), make(chan struct{})
	go func() { ended <- run(ctx) }()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(longest, func() { close(late) }) })()
	select {
	case err := <-ended:
		return err
	case <-late:
		return fmt.Errorf("the stop did not come to its end within %s and is given up; a disk or a file system may not answer", longest)
	}
}

// welcome says what somebody at the terminal wants to know. The first password is said here and nowhere else.
func welcome(w io.Writer, about app.Welcome) {
	lines := []string{"Punctual is running", "", "  Console    " + about.URL, "  Data       " + about.Database, "  Time zone  " + about.Zone}
	if about.Sample != "" {
		lines = append(lines, "  Sample     an executor at "+about.Sample)
	}
	if about.FirstUser != "" {
		lines = append(lines, "", "  User       "+about.FirstUser)
		if about.FirstPassword != "" {
			lines = append(lines, "  Password   "+about.FirstPassword, "", "  This password is shown only once. Write it down.")
		} else {
			lines = append(lines, "  Password   as set in PUNCTUAL_ADMIN_PASSWORD")
		}
	}
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	edge := strings.Repeat("─", width+2)
	fmt.Fprintf(w, "╭%s╮\n", edge)
	for _, line := range lines {
		fmt.Fprintf(w, "│ %s%s │\n", line, strings.Repeat(" ", width-utf8.RuneCountInString(line)))
	}
	fmt.Fprintf(w, "╰%s╯\n", edge)
}
