package api

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

// Once lets a request be sent again when its answer was lost: embed it in the input of an operation that creates something.
type Once struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"Any text that is new for each thing to do. For a day the same request with the same key is answered as it was the first time, and nothing is done again."`
}

func (o Once) key() string { return o.Key }

// keysAreKept is how long a key is known.
const keysAreKept = 24 * time.Hour

// workedOn is longer than any request with a key takes. One that has no answer after it has none any more.
const workedOn = 5 * time.Minute

// What is kept in place of an answer that nobody could read, and of one that nobody knows.
const (
	answerLost    = "-"
	answerUnknown = "?"
)

// onceRunning is said of a key whose request is worked on.
const onceRunning = "api.once.running"

// onceUnread is said of what was done, and could not be read for its answer.
const onceUnread = "api.once.unread"

// did says that the operation has done what it was asked for: an error from here on is of the answer alone, and no reason to do it again.
func did(ctx context.Context) { requestOf(ctx).done = true }

// onceOnly does what a request asks, unless the same request with the same key did so before: then its answer is read into empty. A
// refusal is not kept, so that the request can be made again; what was done ([did]) is, also if its answer could not be read. When an
// admin ends in the middle of a request, or the database does not confirm its commit, nobody knows whether it was done, and the key says so
// until it is forgotten: doing it again would be what the key is to prevent.
func (a *API) onceOnly(ctx context.Context, o op, in any, do func(context.Context) (any, error), empty any) (any, error) {
	keyed, ok := in.(interface{ key() string })
	if !ok || keyed.key() == "" {
		return do(ctx)
	}
	r := requestOf(ctx)
	asked, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	a.takeBackKeys(ctx)
	id := digest(strconv.FormatInt(r.principal.UserID, 10), keyed.key())
	sum := digest(o.method, r.echo.Request().URL.RequestURI(), string(asked), r.principal.Bounds()) // a narrower token is not answered as a wider one
	q := db.New()
	ctx = context.WithoutCancel(ctx) // who has gone will come again with the key, which nobody would answer if it were kept and nothing done
	mine := db.TakeBackIdempotencyParams{ID: id, MadeAt: a.Now().UnixMilli()}
	err = db.Error(q.InsertIdempotency(ctx, a.Pool, db.InsertIdempotencyParams{ID: id, Request: sum, MadeAt: mine.MadeAt}))
	if errors.Is(err, db.ErrDuplicate) {
		return a.again(ctx, id, sum, keyed.key(), empty)
	}
	if err != nil {
		if db.RefusalOf(err) == "" { // its answer may have been lost
			err = errors.Join(err, a.takeBackKey(ctx, mine))
		}
		return nil, fmt.Errorf("remember idempotency key: %w", err)
	}
	out, err := do(ctx)
	if unknown := errors.Is(err, db.ErrUnconfirmed); err != nil && (r.done || unknown) {
		answer := answerLost
		if !r.done {
			answer = answerUnknown
		}
		_, keep := q.AnswerIdempotency(ctx, a.Pool, db.AnswerIdempotencyParams{ID: id, Answer: answer})
		return nil, errors.Join(err, db.Error(keep))
	}
	if err != nil {
		return nil, errors.Join(err, a.takeBackKey(ctx, mine))
	}
	if err := a.keepAnswer(ctx, id, keyed.key(), out); err != nil {
		a.Logger.Warn("an answer was not kept for its idempotency key", "error", err)
	}
	return out, nil
}

// takeBackKey forgets the key of a request that was not done; where the database is away, later.
func (a *API) takeBackKey(ctx context.Context, key db.TakeBackIdempotencyParams) error {
	_, err := db.New().TakeBackIdempotency(ctx, a.Pool, key)
	if err != nil {
		a.owed.Store(key, nil)
		return db.Error(err)
	}
	a.owed.Delete(key)
	return nil
}

// takeBackKeys makes up for the keys that a database which was away has still: who comes again with one would be told for minutes that it is
// worked on, and for a day that nobody knows.
func (a *API) takeBackKeys(ctx context.Context) {
	a.owed.Range(func(key, _ any) bool { return a.takeBackKey(ctx, key.(db.TakeBackIdempotencyParams)) == nil })
}

// answerSeal is the cipher of an answer. It may hold what is told this once, and the key that opens it is the client's: the database has
// only a sum of that.
func answerSeal(key string) (*seal.Seal, error) {
	derived, err := hkdf.Key(sha256.New, []byte(key), nil, "punctual answer", seal.KeyBytes)
	if err != nil {
		return nil, err
	}
	return seal.New(derived)
}

func (a *API) keepAnswer(ctx context.Context, id, key string, out any) error {
	answer, err := json.Marshal(out)
	if err != nil {
		return err
	}
	sealing, err := answerSeal(key)
	if err != nil {
		return err
	}
	_, err = db.New().AnswerIdempotency(ctx, a.Pool, db.AnswerIdempotencyParams{ID: id, Answer: sealing.Close(answer, id)})
	return db.Error(err)
}

// again answers a request whose key is known.
func (a *API) again(ctx context.Context, id, sum, key string, empty any) (any, error) {
	row, err := db.New().GetIdempotency(ctx, a.Pool, id)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound): // the first one was refused just now
		return nil, problem.New(problem.Conflict, onceRunning)
	case err != nil:
		return nil, fmt.Errorf("read idempotency key: %w", err)
	case row.Request != sum:
		return nil, problem.New(problem.Conflict, "api.once.other")
	case row.Answer == "" && a.Now().Sub(time.UnixMilli(row.MadeAt)).Abs() < workedOn: // the clock may have been put back since
		return nil, problem.New(problem.Conflict, onceRunning)
	case row.Answer == "", row.Answer == answerUnknown:
		return nil, problem.New(problem.Conflict, "api.once.unknown")
	case row.Answer == answerLost:
		return nil, problem.New(problem.Conflict, "api.once.done")
	}
	sealing, err := answerSeal(key)
	if err != nil {
		return nil, err
	}
	answer, err := sealing.Open(row.Answer, id)
	if err != nil {
		return nil, problem.New(problem.Conflict, "api.once.unknown") // of a version that did not seal it
	}
	if err := json.Unmarshal(answer, empty); err != nil {
		return nil, fmt.Errorf("read the answer of an idempotency key: %w", err)
	}
	requestOf(ctx).echo.Response().Header().Set("Idempotent-Replayed", "true")
	return empty, nil
}

// Clean forgets keys that are a day old.
func (a *API) Clean(ctx context.Context) error {
	a.takeBackKeys(ctx)
	_, err := db.New().CleanIdempotency(ctx, a.Pool, a.Now().Add(-keysAreKept).UnixMilli())
	return db.Error(err)
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
