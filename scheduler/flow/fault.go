package flow

import (
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// Fault is what is wrong in a definition, or with an expression of a run: in which step (empty: in the flow), in which of its fields (Name,
// as in the file) and on which line (0: it was read from no text).
type Fault struct {
	Step string
	Line int
	invalid.Field
}

// Error implements error, for logs.
func (f *Fault) Error() string {
	return fmt.Sprintf("line %d: step %s: %s: %s %v", f.Line, f.Step, f.Name, f.Key, f.Args)
}

// Faults are what is wrong with a definition, in the order of its steps.
type Faults []Fault

// Error implements error, for logs.
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i := range f {
		texts[i] = f[i].Error()
	}
	return strings.Join(texts, "; ")
}
