package jobs

import (
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/views/layout"
)

// Mark is how a run of the history bars ended.
type Mark byte

const (
	MarkGood Mark = iota
	MarkBad
	MarkOpen
	MarkSkipped
	MarkKilled
	MarkRetried // failed, and was tried again: what its fire came to is another bar
)

// History is the newest runs of a job, oldest first.
type History []Mark

const (
	historyRuns = 30
	markStep    = 4 // a bar of three and a gap
)

// path draws the bars of one mark. One that is not full ends at the right, where the newest run stands.
func (s History) path(m Mark) string {
	var d strings.Builder
	for i, mark := range s {
		if mark == m {
			fmt.Fprintf(&d, "M%d 0h3v16h-3z", (historyRuns-len(s)+i)*markStep)
		}
	}
	return d.String()
}

func (s History) count(m Mark) int {
	n := 0
	for _, mark := range s {
		if mark == m {
			n++
		}
	}
	return n
}

// Label says what the runs come to.
func (s History) Label(p layout.Page) string {
	parts := []string{p.T("jobs.history.label", "Count", len(s)-s.count(MarkRetried), "Good", s.count(MarkGood), "Bad", s.count(MarkBad))}
	for _, of := range []struct {
		mark Mark
		key  string
	}{{MarkRetried, "jobs.history.retried"}, {MarkKilled, "jobs.history.killed"}, {MarkSkipped, "jobs.history.skipped"}, {MarkOpen, "jobs.history.open"}} {
		if n := s.count(of.mark); n > 0 {
			parts = append(parts, p.T(of.key, "N", n))
		}
	}
	return p.List(parts)
}
