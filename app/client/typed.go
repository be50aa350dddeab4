package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxTyped bounds what is read of standard input as a secret: the largest of the admin, a line end, and one more, so that one that is too
// long is seen to be.
const maxTyped = 16<<10 + 3

// terminalOf is the terminal that is read from, nil where there is none.
func terminalOf(s Streams) *os.File {
	if in, ok := s.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		return in
	}
	return nil
}

// typed asks at a terminal for a line that it does not show. Who interrupts the question has a terminal that shows what they type.
func typed(ctx context.Context, s Streams, in *os.File, ask string) (string, error) {
	state, err := term.GetState(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("look at the terminal: %w", err)
	}
	fmt.Fprint(s.Err, ask)
	type answer struct {
		line []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(int(in.Fd()))
		read <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		_ = term.Restore(int(in.Fd()), state)
		fmt.Fprintln(s.Err)
		return "", interrupted(ctx)
	case got := <-read:
		fmt.Fprintln(s.Err)
		return string(got.line), got.err
	}
}

// readSecret takes all of standard input but a line end behind it, or asks for a line at a terminal.
func readSecret(ctx context.Context, s Streams, ask string) (string, error) {
	if in := terminalOf(s); in != nil {
		return typed(ctx, s, in, ask)
	}
	raw, err := io.ReadAll(io.LimitReader(s.In, maxTyped))
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"), nil
}

// readToken takes an API token: typed at a terminal, or as the first line of standard input.
func readToken(ctx context.Context, s Streams, base string) (string, error) {
	if in := terminalOf(s); in != nil {
		line, err := typed(ctx, s, in, fmt.Sprintf("An API token is made at %s/tokens/new. It is not shown while you paste it.\nToken: ", base))
		return strings.TrimSpace(line), err
	}
	line, err := bufio.NewReader(io.LimitReader(s.In, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.New("no token on standard input")
	}
	return line, nil
}
