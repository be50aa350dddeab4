package archive

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFileSystemThatDoesNotAnswerHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &Folder{calls: make(chan struct{}, folderCalls), limit: folderLimit}
		answers := make(chan struct{})
		var late atomic.Int32
		hang := func(ctx context.Context) error {
			return f.waits(ctx, func() error { <-answers; return nil }, func() { late.Add(1) })
		}
		var all sync.WaitGroup
		for range folderCalls - 1 {
			all.Go(func() {
				began := time.Now()
				if err := hang(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != folderLimit {
					t.Errorf("a call ends after %v with %v", time.Since(began), err)
				}
			})
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := hang(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil {
				t.Errorf("a call of somebody who waits a second ends with %v", err)
			}
		})
		all.Wait()

		called := false
		call := func() error { called = true; return nil }
		if err := f.waits(t.Context(), call, func() {}); !errors.Is(err, context.DeadlineExceeded) || called {
			t.Errorf("while %d calls hang another is made: %v, and ends with %v", folderCalls, called, err)
		}
		close(answers)
		synctest.Wait()
		if n := late.Load(); n != folderCalls {
			t.Errorf("%d calls know that nobody waited for them, want %d", n, folderCalls)
		}
		if err := f.waits(t.Context(), call, func() { t.Error("it was waited for") }); err != nil || !called {
			t.Errorf("when it answers again: %v, called: %v", err, called)
		}
	})
}
