package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestARequestWithAKeyIsDoneToItsEnd also when its client goes away meanwhile, who comes again with the key.
func TestARequestWithAKeyIsDoneToItsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		type answer struct{ N int }
		a := &API{Config: Config{Pool: pool, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}}
		n := 0
		for range 2 {
			ec := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/jobs", nil), httptest.NewRecorder())
			ctx, goAway := context.WithCancel(context.WithValue(t.Context(), requestKey{}, &request{echo: ec}))
			out, err := a.onceOnly(ctx, op{method: http.MethodPost}, &struct{ Once }{Once{Key: "k"}}, func(ctx context.Context) (any, error) {
				n++
				goAway()
				return &answer{n}, ctx.Err()
			}, new(answer))
			if err != nil || out.(*answer).N != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
		}
	})
}
