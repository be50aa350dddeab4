package wire

import (
	"context"
	"encoding/json"
	"fmt"
)

// Declaration says which jobs a program brings with it. It is Punctual's own call: XXL-JOB's admins refuse it.
type Declaration struct {
	RegistryKey string        `json:"registryKey"` // the app name of the group
	Removed     string        `json:"removed"`     // what becomes of jobs that were declared before and are no more: one of the Removed constants
	Jobs        []DeclaredJob `json:"jobs"`
}

// DeclaredJob is a job of a program.
type DeclaredJob struct {
	Name string `json:"name"` // by which it is found again
	// Fields are the parts of the definition that the program decides, by their names in a job file (docs/jobfile.md) and as texts: a
	// list with commas, a flag as "true", a moment in RFC 3339.
	Fields  map[string]string `json:"fields"`
	Next    []string          `json:"next,omitempty"`    // names of jobs of the declaration that start when it succeeded
	Stopped bool              `json:"stopped,omitempty"` // not started when it is made
}

// What becomes of jobs that a program declares no longer.
const (
	RemovedStop   = "stop"
	RemovedKeep   = "keep"
	RemovedDelete = "delete"
)

// The outcomes of a declared job.
const (
	DeclaredCreated   = "created"
	DeclaredChanged   = "changed"
	DeclaredUnchanged = "unchanged"
	DeclaredRemoved   = "removed" // what Removed says was done
	DeclaredRefused   = "refused"
)

// DeclareResult is what an admin did with a job.
type DeclareResult struct {
	Name    string `json:"name"`
	ID      int64  `json:"id"`
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"` // why it is refused, for people
}

// Declare tells the admins which jobs the program brings with it. A [RefusedError] means that no job was looked at.
func (c *AdminClient) Declare(ctx context.Context, d Declaration) ([]DeclareResult, error) {
	body, err := encode(d)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	var results []DeclareResult
	err = c.each(ctx, 0, func(ctx context.Context, a *admin) error {
		answer, err := c.ask(ctx, a, "/api/declare", body)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(answer.Data, &results); err != nil {
			return fmt.Errorf("admin %s: what became of the jobs: %w", a.base, err)
		}
		return nil
	})
	return results, err
}
