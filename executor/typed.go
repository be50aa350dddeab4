package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// HandleJSON gives the executor a job handler whose parameter is a JSON text, which it reads into a T. A parameter that is empty or
// blank is the zero T. A text that does not fit, and one with a member that T does not have, fail the run before the handler is called:
// somebody has typed it by hand, and would not see what was left out. The text as it came is in [Run.Param].
//
// It panics as [Executor.Handle] does.
func HandleJSON[T any](e *Executor, name string, h func(ctx context.Context, run *Run, param T) error) {
	if h == nil {
		panic("executor: HandleJSON without a handler")
	}
	e.Handle(name, func(ctx context.Context, run *Run) error {
		var param T
		if err := readParam(run.Param, &param); err != nil {
			return err
		}
		return h(ctx, run, param)
	})
}

func readParam(text string, into any) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("the parameter is not what the handler reads: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the parameter is not what the handler reads: it goes on after its end")
	}
	return nil
}
