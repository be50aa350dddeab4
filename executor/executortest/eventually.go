package executortest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// Patience is how long waiting for something in a test may take before it fails. It is generous: a machine may be busy. TEST_PATIENCE
// in the environment, such as 8s, shortens it where tests are meant to fail, as in tools/mutate.
var Patience = patience(os.Getenv("TEST_PATIENCE"))

func patience(wanted string) time.Duration {
	if d, err := time.ParseDuration(wanted); err == nil && d > 0 {
		return d
	}
	return 90 * time.Second
}

// ErrNotYet is for [Eventually], where there is no more to say.
var ErrNotYet = errors.New("not yet")

// Eventually asks again and again until there is no error, and fails the test after [Patience]. It is for what no signal
// announces, such as another process's state, a file or a row.
func Eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	if err := Within(context.Background(), Patience, ask); err != nil {
		t.Fatalf("no %s within %v: %v", what, Patience, err)
	}
}

// Within asks until there is no error or the time is over: at once, and then the less often the longer it takes, so that what waits for
// seconds does not take the processor from what it waits for.
func Within(ctx context.Context, limit time.Duration, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for begun := time.Now(); ; {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(min(max(10*time.Millisecond, time.Since(begun)/10), 200*time.Millisecond)):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
