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
