package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStopThatDoesNotEndIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const longest = time.Minute
		failed := errors.New("it failed")
		for _, tc := range []struct {
			name         string
			stops, takes time.Duration // 0: it is not stopped
			err          error         // of the stop
			want         time.Duration
			late         bool
		}{
			{"it ends by itself", 0, time.Hour, failed, time.Hour, false},
			{"a stop in order", time.Hour, 59 * time.Second, nil, time.Hour + 59*time.Second, false},
			{"a stop that fails", time.Hour, time.Second, failed, time.Hour + time.Second, false},
			{"a stop that hangs", time.Hour, 2 * time.Minute, nil, time.Hour + time.Minute, true},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			if tc.stops > 0 {
				time.AfterFunc(tc.stops, cancel)
			}
			began := time.Now()
			err := bounded(ctx, longest, func(ctx context.Context) error {
				if tc.stops > 0 {
					<-ctx.Done()
				}
				time.Sleep(tc.takes)
				return tc.err
			})
			cancel()
			if took := time.Since(began); took != tc.want || tc.late == (err == nil || errors.Is(err, failed)) || !tc.late && !errors.Is(err, tc.err) {
				t.Errorf("%s: %v after %v, want it after %v, given up: %v", tc.name, err, took, tc.want, tc.late)
			}
		}
		time.Sleep(time.Hour) // what hung is over
	})
}
