package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
)

// command runs the program its parameter names, with the words after it as arguments; no shell.
func command(ex *executor.Executor) executor.Handler {
	return func(ctx context.Context, run *executor.Run) error {
		words, err := splitWords(run.Param)
		switch {
		case err != nil:
			return err
		case len(words) == 0 || words[0] == "":
			return executor.Fail(wire.CodeFail, "command empty.") // upstream's text
		}
		exitCode, err := ex.Command(ctx, run, words[0], words[1:]...)
		switch {
		case err != nil:
			return fmt.Errorf("command exit value(%d) is failed: %w", exitCode, err)
		case exitCode != 0:
			return fmt.Errorf("command exit value(%d) is failed", exitCode)
		}
		return nil
	}
}

// splitWords cuts a command line at blanks, as upstream does, except inside quotes: nothing is special in single
// quotes, and in double ones only \" and \\. Outside quotes a backslash is a letter like any other, so that the paths
// of Windows stay whole.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '"' && c == '\\' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			word.WriteByte(line[i])
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true // "" is a word too
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("the command has a " + string(quote) + " without its second one; put it into quotes of the other kind")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
