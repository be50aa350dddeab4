package api

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestARequestWithAKeyIsDoneToItsEnd also when its client goes away meanwhile, or has gone already, who comes again with the key: a key that
// is known, and whose request nobody works on, would be refused for a day.
func TestARequestWithAKeyIsDoneToItsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		type answer struct{ N int }
		a := &API{Config: Config{Pool: pool, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}}
		for _, key := range []string{"meanwhile", "already"} {
			n := 0
			for range 2 {
				ec := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/jobs", nil), httptest.NewRecorder())
				ctx, goAway := context.WithCancel(context.WithValue(t.Context(), requestKey{}, &request{echo: ec}))
				if key == "already" && n == 0 {
					goAway()
				}
				out, err := a.onceOnly(ctx, op{method: http.MethodPost}, &struct{ Once }{Once{Key: key}}, func(ctx context.Context) (any, error) {
					n++
					goAway()
					return &answer{n}, ctx.Err()
				}, new(answer))
				goAway()
				if err != nil || out.(*answer).N != 1 {
					t.Fatalf("%s: %+v, %v", key, out, err)
				}
			}
		}
	})
}

// TestAKeyOutlivesACommitThatIsNotConfirmed: the transaction is committed and the answer lost. Who comes again with the key is told that
// nobody knows, and nothing is done a second time.
func TestAKeyOutlivesACommitThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := &API{Config: Config{Pool: pool, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}}
		n := 0
		ask := func() error {
			ec := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/jobs", nil), httptest.NewRecorder())
			ctx := context.WithValue(t.Context(), requestKey{}, &request{echo: ec})
			_, err := a.onceOnly(ctx, op{method: http.MethodPost}, &struct{ Once }{Once{Key: "k"}}, func(ctx context.Context) (any, error) {
				n++
				return nil, pool.Tx(ctx, func(tx *sql.Tx) error { return tx.Commit() }) // so that the commit after it fails
			}, new(struct{}))
			return err
		}
		err := ask()
		if p := problem.From(err); !errors.Is(err, db.ErrUnconfirmed) || p.Kind != problem.Unavailable || p.Key != problem.Unconfirmed {
			t.Errorf("unconfirmed: %v, told as %v", err, p)
		}
		if p := problem.From(ask()); p == nil || p.Key != "api.once.unknown" {
			t.Errorf("asked again: %v", p)
		}
		if n != 1 {
			t.Errorf("done %d times", n)
		}
	})
}

// TestAKeyThatWasNotUsedIsFree: the database goes away after a key is on record, and nothing is done. Who comes again with the key when it is back has
// the request done, and is not told that somebody works on it.
func TestAKeyThatWasNotUsedIsFree(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		sent := dbtest.Watch(t, pool)
		a := &API{Config: Config{Pool: pool, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}}
		n := 0
		ask := func(key string) error {
			ec := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/jobs", nil), httptest.NewRecorder())
			ctx := context.WithValue(t.Context(), requestKey{}, &request{echo: ec})
			_, err := a.onceOnly(ctx, op{method: http.MethodPost}, &struct{ Once }{Once{Key: key}}, func(ctx context.Context) (any, error) {
				return &struct{}{}, pool.Tx(ctx, func(tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, "UPDATE xxl_job_lock SET lock_name = lock_name")
					if err == nil {
						n++
					}
					return err
				})
			}, new(struct{}))
			return err
		}
		for i, at := range []string{"InsertIdempotency", "BEGIN"} {
			sent.Break(i+1, nil, dbtest.Fault{With: mysql.ErrInvalidConn, Done: i == 0, Stays: true})
			err := ask(at)
			if name := sent.Broken(); err == nil || name != at {
				t.Fatalf("%q is answered by nobody: %v", name, err)
			}
			for range 2 {
				if err := ask(at); err != nil || n != i+1 {
					t.Errorf("%s: when the database is back all is done %d times: %v", at, n, err)
				}
			}
		}
	})
}

// TestAKeyOfAnAdminThatEndedIsNotWaitedFor longer when the clock was put back a day since.
func TestAKeyOfAnAdminThatEndedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Now()
		a := &API{Config: Config{Pool: pool, Now: func() time.Time { return now }}}
		for _, tt := range []struct {
			made time.Duration
			key  string
		}{{-time.Second, onceRunning}, {time.Second, onceRunning}, {-time.Hour, "api.once.unknown"}, {24 * time.Hour, "api.once.unknown"}} {
			id := tt.made.String()
			if err := db.New().InsertIdempotency(t.Context(), pool, db.InsertIdempotencyParams{ID: id, Request: "r", MadeAt: now.Add(tt.made).UnixMilli()}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.again(t.Context(), id, "r", "k", nil); problem.From(err).Key != tt.key {
				t.Errorf("made %s from now: %v, want %s", tt.made, err, tt.key)
			}
		}
	})
}
