package sqlite

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestNobodyWaitsForeverForASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := newSessionPool(1, func(context.Context) (*session, error) { return &session{}, nil })
		if _, err := pool.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name string
			has  time.Duration
			want error
			at   time.Duration
		}{
			{"one who has all the time", time.Hour, ErrStuck, WaitsFor},
			{"one who has little", time.Second, context.DeadlineExceeded, time.Second},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), tc.has)
			began := time.Now()
			if _, err := pool.acquire(ctx); !errors.Is(err, tc.want) || time.Since(began) != tc.at {
				t.Errorf("%s is told %v after %v, want %v after %v", tc.name, err, time.Since(began), tc.want, tc.at)
			}
			cancel()
		}
		time.AfterFunc(WaitsFor-1, func() { <-pool.slots })
		if _, err := pool.acquire(t.Context()); err != nil {
			t.Errorf("one who has it at the last moment is told %v", err)
		}
	})
}
