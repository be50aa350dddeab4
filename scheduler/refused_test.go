package scheduler

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRefusedCallsAreWarnedAboutOnceAMinute(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := newRefusals(slog.New(slog.NewTextHandler(&out, nil)))
	now := time.Now()
	orders := Caller{Address: "10.1.2.3", AppName: "orders"}
	for i := range 121 {
		r.add(now.Add(time.Duration(i)*time.Second), orders, RefusedToken, []int64{int64(i)})
	}
	r.add(now, Caller{Address: "10.1.2.3", AppName: "bills"}, RefusedToken, nil)
	if n := strings.Count(out.String(), "group=orders"); n != 3 {
		t.Errorf("%d warnings in two minutes and a second, want 3:\n%s", n, out.String())
	}
	if n := strings.Count(out.String(), "group=bills"); n != 1 {
		t.Errorf("%d warnings about another group, want 1", n)
	}
	if n := testutil.ToFloat64(r.calls.WithLabelValues("token")); n != 122 {
		t.Errorf("%v calls counted, want 122", n)
	}
	if got, ok := r.result(120); !ok || got.from != "10.1.2.3" || !got.at.Equal(now.Add(120*time.Second)) {
		t.Errorf("the refused result of run 120 is %+v, %t", got, ok)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRefusals(slog.New(slog.DiscardHandler))
	now := time.Now()
	for i := range 3 * maxRefused {
		now = now.Add(time.Millisecond)
		ids := make([]int64, 100)
		for k := range ids {
			ids[k] = int64(100*i + k)
		}
		r.add(now, Caller{Address: fmt.Sprint(i)}, RefusedToken, ids)
	}
	if len(r.callers) > maxRefused || len(r.results) > maxRefusedIDs || len(r.order) > maxRefusedIDs {
		t.Errorf("%d callers and %d (%d) results are kept", len(r.callers), len(r.results), len(r.order))
	}
	newest := refusedKey{address: fmt.Sprint(3*maxRefused - 1), why: RefusedToken}
	if r.callers[newest] == nil {
		t.Error("the newest caller was not kept")
	}
	if _, ok := r.result(300*maxRefused - 1); !ok {
		t.Error("the newest refused result was not kept")
	}
}
