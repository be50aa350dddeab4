//go:build go1.26

package executor

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

func TestTheRegistrationNamesHandlersWhoseParameterIsCode(t *testing.T) {
	t.Parallel()
	e, err := New(Config{AppName: "orders", DataDir: t.TempDir(), Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *Run) error { return nil }
	if raw, _ := json.Marshal(e.registration()); string(raw) != `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"","takesEnvironment":true}` {
		t.Errorf("without such a handler it is %s", raw)
	}
	e.Handle("plain", nothing)
	e.HandleWith("runIt", HandlerSpec{Run: nothing, ParamIsCode: true})
	raw, _ := json.Marshal(e.registration())
	back, err := wire.DecodeRegistry(raw)
	if err != nil || !slices.Equal(back.CodeHandlers, []string{"runIt"}) {
		t.Errorf("it is %s, read as %+v (%v)", raw, back, err)
	}
}

// TestADeclaredLengthIsSaidAsItIs: what is not whole seconds is refused by the admin, and must not have become something else on the way.
func TestADeclaredLengthIsSaidAsItIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		length time.Duration
		want   string
	}{{0, ""}, {time.Second, "1"}, {36 * time.Hour, "129600"}, {1500 * time.Millisecond, "1.5"}, {time.Millisecond, "0.001"}, {-time.Second, "-1"}} {
		j := Job{Name: "a", Timeout: tt.length, WarnAfter: tt.length, ExpectSuccess: tt.length, MisfireWithin: tt.length}.declared("orders")
		for _, field := range []string{"timeout_seconds", "warn_after_seconds", "expect_success_seconds", "misfire_within_seconds"} {
			if got := j.Fields[field]; got != tt.want {
				t.Errorf("%s is %s: %q, want %q", tt.length, field, got, tt.want)
			}
		}
	}
	for _, tt := range []struct {
		schedule Schedule
		want     string
	}{{Every(500 * time.Millisecond), "0.5"}, {After(2 * time.Minute), "120"}, {Every(0), "0"}} {
		if got := (Job{Name: "a", Schedule: tt.schedule}).declared("orders").Fields["every_seconds"]; got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.schedule, got, tt.want)
		}
	}
}
