package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// An executor that nobody can call asks for its calls: it posts a [PullRequest], which the admin answers when there is something for it
// to do, or after a while. What it then has is what it would have been sent, path and body, and it gives back what it would have
// answered. Its address is pull://name, where the name is its own within its group.
//
// The answer to a pull may be lost on its way. The executor then says so in its next pull, to whichever admin, and gets the same calls
// again; those of a pull that it has given up it never looks at. How long a call may still be carried out is told in milliseconds, so that
// no two clocks are compared: from the moment at which the pull was sent the executor counts how long the admin held it, and how long the
// call has left.

// PullScheme begins the address of an executor that asks for its calls.
const PullScheme = "pull://"

// Pulls says whether an address is that of an executor that asks for its calls.
func Pulls(address string) bool {
	return len(address) > len(PullScheme) && strings.EqualFold(address[:len(PullScheme)], PullScheme)
}

// MaxPullName is how long the name in such an address may be.
const MaxPullName = 100

// PullAddress is the address of a name, as it is stored and compared: in lower case, and without a slash. ok is false for a name that is
// not made of letters, digits, points, hyphens and underscores alone.
func PullAddress(name string) (address string, ok bool) {
	if name == "" || len(name) > MaxPullName {
		return "", false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return "", false
		}
	}
	return PullScheme + strings.ToLower(name), true
}

// NormalPullAddress is [PullAddress] of an address that somebody typed, with a slash at its end or without.
func NormalPullAddress(address string) (normal string, ok bool) {
	if !Pulls(address) {
		return "", false
	}
	return PullAddress(strings.TrimSuffix(address[len(PullScheme):], "/"))
}

// ErrNotFetched means that the executor did not come for a call in time. It has seen nothing of it.
var ErrNotFetched = errors.New("the executor did not come for the call")

// SilentError means that the executor has not asked for calls for so long that none is kept for it. It has seen nothing of this one.
type SilentError struct {
	Since time.Time // when it asked last, or since when that would be known
}

func (e *SilentError) Error() string {
	return "the executor has not asked for calls since " + e.Since.UTC().Format(time.RFC3339)
}

// PullRequest is the body of /api/pull.
type PullRequest struct {
	RegistryKey   string `json:"registryKey"`   // the app name of its group
	RegistryValue string `json:"registryValue"` // its address
	// Instance is the same for all pulls of a process. What stands before its first point is the same for all processes of a data folder, of
	// which there is one at a time. Another one is another executor, which may not have the same name at the same time.
	Instance string `json:"instance"`
	Pull     string `json:"pull"` // the pull's own name, which is never used again
	// Lost are earlier pulls of which no answer came, and none is looked at any more.
	Lost []string `json:"lost,omitempty"`
	Max  int      `json:"max"`  // how many calls it takes; 0: none, it only answers
	Wait int      `json:"wait"` // milliseconds it waits for one
	// Apart asks to be told at once when a pull of the same process is open at this admin already, so that of several through a balancer one
	// comes to each; and which answers are to calls of other admins, instead of having them written down.
	Apart bool `json:"apart,omitempty"`
	// Early asks for the beginning of the answer after [PullEarly], also while there is nothing to say yet: it shows that the admin lives.
	Early bool `json:"early,omitempty"`
	// Answers are those of calls that it had before.
	Answers []PulledAnswer `json:"answers,omitempty"`
}

// PulledAnswer is what an executor answers to a call that it asked for.
type PulledAnswer struct {
	ID     string          `json:"id"`
	Answer json.RawMessage `json:"answer"` // the body that it would have answered with
}

// PullResponse is the data of the answer to a [PullRequest].
type PullResponse struct {
	Held  int64        `json:"held"` // milliseconds between the pull's arrival and this answer
	Calls []PulledCall `json:"calls"`
	// Elsewhere answers Apart: it is to be sent again, and better to another admin.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Left are the ids of answers that this admin has not taken, because another waits for them.
	Left []string `json:"left,omitempty"`
	// Admins is how many admins share the work, each of which hands over its own calls at once if it is asked. 0: one.
	Admins int `json:"admins,omitempty"`
	// Early says that this admin begins an answer early when it is asked to.
	Early bool `json:"early,omitempty"`
	// Admin is this one's name, where there are several.
	Admin string `json:"admin,omitempty"`
}

// PulledCall is a call for the executor.
type PulledCall struct {
	ID   string          `json:"id"`
	Path string          `json:"path"`
	Body json.RawMessage `json:"body"`
	Left int64           `json:"left"` // milliseconds in which it may be begun
	// TraceParent is what the header of that name would be.
	TraceParent string `json:"traceparent,omitempty"`
}

// Bounds of a pull. An admin holds less back than was asked for.
const (
	MaxPull        = 200
	MaxPullWait    = 25 * time.Second
	PullEarly      = 250 * time.Millisecond
	maxPullID      = 80
	maxPullLost    = 100
	maxPullAnswers = 1000
)

var errPull = errors.New("not a pull")

// DecodePull reads the body of /api/pull, and refuses what no executor sends.
func DecodePull(body []byte) (PullRequest, error) {
	var r PullRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return PullRequest{}, err
	}
	address, ok := NormalPullAddress(r.RegistryValue)
	r.RegistryKey, r.RegistryValue = strings.TrimSpace(r.RegistryKey), address
	switch {
	case r.RegistryKey == "":
		return PullRequest{}, fmt.Errorf("%w: the registryKey is empty", errPull)
	case !ok:
		return PullRequest{}, fmt.Errorf("%w: the registryValue must be pull:// and a name of letters, digits, points, hyphens and underscores", errPull)
	case r.Max > 0 && (!pullID(r.Instance) || !pullID(r.Pull)):
		return PullRequest{}, fmt.Errorf("%w: instance and pull must be names of 1 to %d letters, digits and hyphens", errPull, maxPullID)
	case r.Max < 0 || r.Wait < 0:
		return PullRequest{}, fmt.Errorf("%w: max and wait must not be negative", errPull)
	case len(r.Lost) > maxPullLost || len(r.Answers) > maxPullAnswers:
		return PullRequest{}, fmt.Errorf("%w: at most %d lost pulls and %d answers", errPull, maxPullLost, maxPullAnswers)
	}
	for _, lost := range r.Lost {
		if !pullID(lost) {
			return PullRequest{}, fmt.Errorf("%w: a lost pull has no name", errPull)
		}
	}
	for i, a := range r.Answers {
		if !pullID(a.ID) {
			return PullRequest{}, fmt.Errorf("%w: an answer has no id", errPull)
		}
		if isNull(a.Answer) {
			return PullRequest{}, fmt.Errorf("%w: the answer to %s is missing", errPull, a.ID)
		}
		r.Answers[i] = a
	}
	r.Max = min(r.Max, MaxPull)
	return r, nil
}

func pullID(text string) bool {
	if text == "" || len(text) > maxPullID {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return true
}

// Len is how many admins the client knows.
func (c *AdminClient) Len() int { return len(c.admins) }

// Pull asks one of the admins for calls. The context bounds the wait. begun, if not nil, is called when the answer begins.
func (c *AdminClient) Pull(ctx context.Context, which int, req *PullRequest, begun func()) (PullResponse, error) {
	a := c.admins[which]
	body, err := encode(req)
	if err != nil {
		return PullResponse{}, fmt.Errorf("encode: %w", err)
	}
	if begun != nil {
		ctx = context.WithValue(ctx, begunKey{}, begun)
	}
	answer, err := c.post(ctx, a.base+"/api/pull", c.Token(), c.appName, body, maxLogAnswer)
	if err != nil {
		return PullResponse{}, fmt.Errorf("admin %s: %w", a.base, err)
	}
	if !answer.OK() {
		return PullResponse{}, &RefusedError{Admin: a.base, Code: answer.Code, Msg: answer.Msg}
	}
	var r PullResponse
	if err := json.Unmarshal(answer.Data, &r); err != nil {
		return PullResponse{}, fmt.Errorf("admin %s: what there is to do: %w", a.base, err)
	}
	return r, nil
}

// AnswerPulled hands over answers, to one of the admins if it takes them, and else to another. Left are the ids of those that an admin did
// not take, which only happens when the request is made apart.
func (c *AdminClient) AnswerPulled(ctx context.Context, which int, req *PullRequest) (left []string, err error) {
	body, err := encode(req)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	var errs []error
	for i := range c.admins {
		a := c.admins[(which+i)%len(c.admins)]
		attempt, cancel := context.WithTimeout(ctx, c.timeout)
		answer, err := c.ask(attempt, a, "/api/pull", body)
		c.leave(attempt, err)
		cancel()
		var r PullResponse
		if err == nil && len(answer.Data) > 0 {
			if err = json.Unmarshal(answer.Data, &r); err != nil {
				err = fmt.Errorf("admin %s: what it has taken: %w", a.base, err)
			}
		}
		if err == nil {
			return r.Left, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}
