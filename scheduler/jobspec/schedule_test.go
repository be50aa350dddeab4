package jobspec_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestNext(t *testing.T) {
	t.Parallel()
	shanghai := time.FixedZone("CST", 8*3600)
	after := time.Date(2026, 3, 2, 10, 0, 0, 500_000_000, time.UTC)
	for _, tt := range []struct {
		name string
		typ  jobspec.ScheduleType
		conf string
		want time.Time
	}{
		{"a cron is read in the zone", jobspec.ScheduleCron, "0 0 19 * * ?", time.Date(2026, 3, 2, 19, 0, 0, 0, shanghai)},
		{"a fixed rate adds its seconds", jobspec.ScheduleFixRate, "90", after.Add(90 * time.Second)},
		{"a long fixed rate does not overflow", jobspec.ScheduleFixRate, "2147483647", after.Add(2147483647 * time.Second)},
		{"NONE is never due", jobspec.ScheduleNone, "0 0 19 * * ?", time.Time{}},
		{"an unknown type is never due", "WEEKLY", "5", time.Time{}},
		{"a cron that is over is never due", jobspec.ScheduleCron, "0 0 0 1 1 ? 2020", time.Time{}},
	} {
		got, err := jobspec.Next(tt.typ, tt.conf, after, shanghai)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestNextReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	if _, err := jobspec.Next(jobspec.ScheduleCron, "0 0 9 * * MON", at("10:00:00"), nil); !isType[*cron.ParseError](err) {
		t.Errorf("got %v, want a parse error", err)
	}
	if _, err := jobspec.Next(jobspec.ScheduleCron, "0 0 9 1 L ?", at("10:00:00"), nil); !isType[*cron.EvalError](err) {
		t.Errorf("got %v, want an evaluation error", err)
	}
	for _, conf := range []string{"", "0", "-1", "1.5", "5s", "2147483648"} {
		if _, err := jobspec.Next(jobspec.ScheduleFixRate, conf, at("10:00:00"), nil); !errors.Is(err, jobspec.ErrInterval) {
			t.Errorf("fixed rate %q: got %v, want ErrInterval", conf, err)
		}
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// More texts than the cache keeps, from several goroutines: the answers stay right. The race detector watches.
func TestNextFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 3600 {
				text := fmt.Sprintf("%d %d 11 * * ?", i%60, i/60)
				got, err := jobspec.Next(jobspec.ScheduleCron, text, at("10:00:00"), nil)
				if want := at("11:00:00").Add(time.Duration(i) * time.Second); err != nil || !got.Equal(want) {
					t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
