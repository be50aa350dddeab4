package manage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// Callbacks are the one-time addresses by which the targets of asynchronous HTTP calls report the ends of runs. Whoever knows one may
// report, and nothing else: nobody is logged in there.
type Callbacks struct {
	cfg     Config
	queries *db.Queries
	guesses *auth.Guesses
}

const (
	// MaxReport is how many bytes a report has at most.
	MaxReport = 64 << 10
	// maxProgress is how many characters of progress are kept; the column holds no more.
	maxProgress = 1000
	// maxWaited is for how long a report can have waited: no address counts for longer than it takes to forget it.
	maxWaited = 7 * 24 * time.Hour

	guessPause = 3 * time.Second
	guessBurst = 20
)

// CallbackError is why an asynchronous call is not made.
type CallbackError struct{ text string }

// Error implements error. It stands in the run's result, as what executors say does.
func (e *CallbackError) Error() string { return e.text }

// HandOut makes the token of a run that is about to call its target, and gives the address that the target gets. received is when the
// run began: its address counts for the job's time limit from then on. path makes a path of a token.
func (s *Callbacks) HandOut(ctx context.Context, logID, jobID int64, received time.Time, path func(token string) string) (string, error) {
	base := s.cfg.Settings.PublicURL()
	if base == "" {
		return "", &CallbackError{"an asynchronous call needs the setting \"Public address\" (PUNCTUAL_PUBLIC_URL), which the target reports to"}
	}
	job, err := s.queries.GetJob(ctx, s.cfg.Pool, jobID)
	if err != nil {
		return "", fmt.Errorf("read job: %w", db.Error(err))
	}
	if job.ExecutorTimeout <= 0 {
		return "", &CallbackError{"an asynchronous call needs a time limit of the job, after which its target is not waited for"}
	}
	token := rand.Text() + rand.Text()
	err = s.cfg.Callbacks.HandOut(ctx, scheduler.Callback{LogID: logID, JobID: jobID, Token: auth.HashAPIToken(token), Expires: received.Add(time.Duration(job.ExecutorTimeout) * time.Second)})
	if errors.Is(err, db.ErrDuplicate) {
		return "", &CallbackError{"this run has called its target before, and is not to do so twice"}
	} else if err != nil {
		return "", fmt.Errorf("note callback: %w", err)
	}
	return strings.TrimRight(base, "/") + path(token), nil
}

// Report takes what a target says under a token.
func (s *Callbacks) Report(ctx context.Context, address, token string, body []byte) error {
	now := s.cfg.Now()
	if !s.guesses.Allowed(address, now) {
		return &problem.Error{Kind: problem.TooMany}
	}
	r, err := parseReport(body)
	if err != nil {
		return err
	}
	r.Token, r.From = auth.HashAPIToken(token), address
	switch err := s.cfg.Callbacks.Report(ctx, r); {
	case errors.Is(err, scheduler.ErrNoCallback):
		s.guesses.Wrong(address, now)
		return problem.New(problem.NotFound, "problem.callback.unknown")
	case errors.Is(err, scheduler.ErrCallbackUsed):
		return problem.New(problem.Conflict, "problem.callback.used")
	case errors.Is(err, scheduler.ErrCallbackExpired):
		return problem.New(problem.Conflict, "problem.callback.expired")
	default:
		return err
	}
}

// parseReport reads the body of a report: one JSON object with status and, if wanted, message and for how many seconds it has waited.
func parseReport(body []byte) (r scheduler.Report, err error) {
	if !utf8.Valid(body) {
		return r, problem.New(problem.Malformed, "problem.callback.body")
	}
	var in struct {
		Status  string  `json:"status"`
		Message string  `json:"message"`
		Waited  float64 `json:"waited"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return r, problem.New(problem.Malformed, "problem.callback.body").Because(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || !eachOnce(body) {
		return r, problem.New(problem.Malformed, "problem.callback.body")
	}
	if in.Waited < 0 || in.Waited > maxWaited.Seconds() {
		return r, problem.InvalidFields(problem.Field{Name: "waited", Key: "problem.callback.waited", Args: []any{"Max", int64(maxWaited / time.Second)}})
	}
	waited := time.Duration(in.Waited * float64(time.Second))
	message := strings.ReplaceAll(in.Message, "\x00", "")
	switch in.Status {
	case "success":
		return scheduler.Report{Code: wire.CodeSuccess, Message: message, Waited: waited}, nil
	case "failed":
		return scheduler.Report{Code: wire.CodeFail, Message: message, Waited: waited}, nil
	case "progress":
		return scheduler.Report{Message: cutAt(message, maxProgress)}, nil
	}
	return r, problem.InvalidFields(problem.Field{Name: "status", Key: "problem.callback.status"})
}

// eachOnce says that no member of a JSON object is there twice, of which encoding/json would take the last; it knows no capitals.
func eachOnce(object []byte) bool {
	names := make(map[string]bool)
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, err := decoder.Token() // the brace
	for err == nil && decoder.More() {
		var name json.Token
		if name, err = decoder.Token(); err == nil {
			key := strings.ToLower(fmt.Sprint(name))
			if names[key] {
				return false
			}
			names[key] = true
			err = decoder.Decode(new(json.RawMessage))
		}
	}
	return err == nil
}

// cutAt is a text of at most n characters.
func cutAt(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
