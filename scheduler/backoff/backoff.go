// Package backoff reads how long the retries of a job, or of a step of a flow, wait.
package backoff

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Backoff says how long the retries of a job wait. The zero value waits for nothing, as XXL-JOB does.
type Backoff struct {
	list   []time.Duration // one wait per retry; the last one goes on
	factor float64         // above 0: list[0] multiplied by it for every further retry
	limit  time.Duration   // of a growing wait; 0 for Max
}

// Max is the longest wait before a retry.
const Max = 7 * 24 * time.Hour

// ErrText is wrapped by the error for a text that is no back-off.
var ErrText = errors.New(`a back-off is a list of waits like "1m,5m,20m", or a growing wait like "30s*2" or "30s*2<=1h"`)

// Parse reads a back-off: waits separated by commas, of which the last is repeated, or a first wait, a factor and
// perhaps a limit. Waits are durations as Go writes them, or whole seconds.
func Parse(text string) (Backoff, error) {
	text = strings.Join(strings.Fields(text), "")
	if text == "" {
		return Backoff{}, nil
	}
	if first, rest, growing := strings.Cut(text, "*"); growing {
		factor, limit, limited := strings.Cut(rest, "<=")
		b := Backoff{}
		wait, err := parseWait(first)
		if err != nil {
			return b, err
		}
		if b.factor, err = strconv.ParseFloat(factor, 64); err != nil || !(b.factor >= 1 && b.factor <= 100) {
			return Backoff{}, fmt.Errorf("factor %q is not a number from 1 to 100: %w", factor, ErrText)
		}
		if limited {
			if b.limit, err = parseWait(limit); err != nil {
				return Backoff{}, err
			}
		}
		b.list = []time.Duration{wait}
		return b, nil
	}
	var b Backoff
	for element := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '，' }) { // that of Chinese keyboards too
		wait, err := parseWait(element)
		if err != nil {
			return Backoff{}, err
		}
		b.list = append(b.list, wait)
	}
	if len(b.list) == 0 {
		return Backoff{}, fmt.Errorf("%q: %w", text, ErrText)
	}
	return b, nil
}

func parseWait(text string) (time.Duration, error) {
	wait, err := time.ParseDuration(text)
	if n, numeric := strconv.Atoi(text); numeric == nil && n >= 0 && n <= int(Max/time.Second) {
		wait, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || wait < 0 || wait > Max {
		return 0, fmt.Errorf("wait %q is not from 0s to %s: %w", text, Max, ErrText)
	}
	return wait, nil
}

// Wait is how long the n-th retry of a run waits after the failure before it; n counts from 1.
func (b Backoff) Wait(n int) time.Duration {
	if len(b.list) == 0 {
		return 0
	}
	if b.factor == 0 {
		return b.list[min(max(n, 1), len(b.list))-1]
	}
	limit := Max
	if b.limit > 0 {
		limit = b.limit
	}
	wait := float64(b.list[0])
	for i := 1; i < n && wait < float64(limit); i++ {
		wait *= b.factor
	}
	return min(time.Duration(min(wait, float64(Max))), limit)
}
