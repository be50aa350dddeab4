package pull_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/pull"
)

var yes = json.RawMessage(`{"code":200}`)

// answersOf is a request that only answers.
func answersOf(answer json.RawMessage, ids ...string) wire.PullRequest {
	req := ask("")
	req.Max = 0
	for _, id := range ids {
		req.Answers = append(req.Answers, wire.PulledAnswer{ID: id, Answer: answer})
	}
	return req
}

// dying is an admin that makes calls, hands them over and never looks for their answers.
func dying(t *testing.T, pool *db.Pool, now func() time.Time) (makeCalls func(to wire.Target, n int) (ids []string)) {
	t.Helper()
	m := pull.New(pull.Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Others: func() bool { return true }, Now: now, Key: []byte("of all admins")})
	client := wire.NewExecutorClient(&http.Client{Transport: m})
	ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
	var calls sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		m.Close()
		calls.Wait()
	})
	return func(to wire.Target, n int) (ids []string) {
		t.Helper()
		for range n {
			calls.Go(func() { _, _ = client.Beat(ctx, to) })
		}
		for i := 0; len(ids) < n; i++ {
			req := ask("p-" + strconv.Itoa(len(ids)) + "-" + strconv.Itoa(i))
			req.RegistryValue, req.Max = to.Address, n-len(ids)
			response, err := m.Pull(limited(t), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range response.Calls {
				ids = append(ids, c.ID)
			}
		}
		return ids
	}
}

// TestAnAnswerThatNobodyAskedForIsRefused: nothing of it is stored, and what came with it is taken.
func TestAnAnswerThatNobodyAskedForIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		result := make(chan error, 1)
		go func() {
			answer, err := one.client.Beat(limited(t), target)
			if err == nil && !answer.OK() {
				err = errors.New(answer.Msg)
			}
			result <- err
		}()
		response, err := one.Pull(limited(t), ask("p-1"))
		if err != nil || len(response.Calls) != 1 {
			t.Fatalf("%+v, %v", response, err)
		}
		id := response.Calls[0].ID
		parts := strings.Split(id, ".")
		changed := func(part int, to string) string {
			other := slices.Clone(parts)
			other[part] = to
			return strings.Join(other, ".")
		}
		forged := []string{
			"x", ".", "...", id + "x", id[:len(id)-1], parts[0] + ".000000000001.abcdefghij",
			changed(0, strings.Repeat("a", len(parts[0]))), changed(1, "000000000fff"), changed(2, "zzzzzzzzz"), changed(3, strings.Repeat("A", len(parts[3]))),
		}
		for _, at := range []*admin{one, two} {
			for _, f := range forged {
				if _, err := at.Pull(t.Context(), answersOf(yes, f)); !errors.Is(err, pull.ErrNoCall) {
					t.Errorf("%s: %v", f, err)
				}
			}
			other := answersOf(yes, id)
			other.RegistryValue = "pull://box-2"
			if _, err := at.Pull(t.Context(), other); !errors.Is(err, pull.ErrNoCall) {
				t.Errorf("by another executor of the group: %v", err)
			}
		}
		if n := answers(t, pool); n != 0 {
			t.Errorf("%d answers were written", n)
		}
		if _, err := two.Pull(t.Context(), answersOf(yes, "x", id, "y")); !errors.Is(err, pull.ErrNoCall) {
			t.Error(err)
		}
		if err := <-result; err != nil {
			t.Errorf("the answer that came with the forged ones: %v", err)
		}
	})
}

// TestAFloodOfAnswersHoldsUpNobody: an executor with a valid token answers what nobody has asked for, as fast as it can, at two admins behind a
// balancer, while another works.
func TestAFloodOfAnswersHoldsUpNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		_, b := startExecutor(t, balance(t, one, two))
		flooding, stop := context.WithCancel(t.Context())
		var flood sync.WaitGroup
		defer flood.Wait()
		defer stop()
		var refused, taken atomic.Int32
		for i := range 4 {
			flood.Go(func() {
				for n := 0; flooding.Err() == nil; n++ {
					ids := make([]string, 200)
					for k := range ids {
						ids[k] = "abcdefghijklmnopqrstuvwxyz." + strconv.Itoa(i) + "." + strconv.Itoa(n*len(ids)+k) + ".AAAAAAAAAAAAAAAAAAAAAA"
					}
					req := answersOf(yes, ids...)
					req.RegistryValue = "pull://flood"
					if _, err := []*admin{one, two}[n%2].Pull(flooding, req); errors.Is(err, pull.ErrNoCall) {
						refused.Add(1)
					} else if flooding.Err() == nil {
						taken.Add(1)
					}
				}
			})
		}
		for i := range int64(10) {
			answer, err := []*admin{one, two}[i%2].client.Run(limited(t), target, runOf(i+1, "count"))
			ok(t, "a run during the flood", answer, err)
			eventually(t, "the result", func() bool { return one.of(i+1)+two.of(i+1) == 1 })
			if n := b.of(i + 1); n != 1 {
				t.Errorf("run %d began %d times", i, n)
			}
		}
		eventually(t, "the flood", func() bool { return refused.Load() > 20 })
		var n int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_pull_answer WHERE address = 'pull://flood'").Scan(&n); err != nil || n != 0 || taken.Load() != 0 {
			t.Errorf("%d rows, %d requests taken, %v", n, taken.Load(), err)
		}
	})
}

// TestWaitingAnswersAreBounded: an admin dies with many calls, whose answers another takes.
func TestWaitingAnswersAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var hand atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(hand.Load())) }
		makeCalls := dying(t, pool, now)
		living := newAdmin(t, pool, true, func(c *pull.Config) { c.Now = now })
		ids := makeCalls(target, pull.MaxWaiting+200)
		// At once, so that none sees what the others are about to write.
		var requests sync.WaitGroup
		var full atomic.Int32
		for part := range slices.Chunk(ids, 100) {
			requests.Go(func() {
				_, err := living.Pull(limited(t), answersOf(yes, part...))
				for db.IsTransient(err) { // MySQL undoes one of two that meet; an executor asks again
					_, err = living.Pull(limited(t), answersOf(yes, part...))
				}
				switch {
				case errors.Is(err, pull.ErrFull):
					full.Add(1)
				case err != nil:
					t.Error(err)
				}
			})
		}
		requests.Wait()
		if n := rows(t, pool); n > pull.MaxWaiting || n == 0 || full.Load() < 2 {
			t.Errorf("%d answers wait, %d requests were refused", n, full.Load())
		}
		for part := range slices.Chunk(ids, 100) { // what was refused is tried again
			if _, err := living.Pull(limited(t), answersOf(yes, part...)); err != nil && !errors.Is(err, pull.ErrFull) {
				t.Error(err)
			}
		}
		if n := rows(t, pool); n > pull.MaxWaiting || n <= pull.MaxWaiting-100 {
			t.Errorf("%d answers wait", n)
		}
		// Another executor has room of its own, and bytes count as well.
		second := wire.Target{Address: "pull://box-2", AppName: "orders"}
		large := json.RawMessage(`"` + strings.Repeat("x", pull.MaxWaitingBytes/5) + `"`)
		sent := 0
		for _, id := range makeCalls(second, 5) {
			req := answersOf(large, id)
			req.RegistryValue = second.Address
			if _, err := living.Pull(limited(t), req); err == nil {
				sent++
			} else if !errors.Is(err, pull.ErrFull) {
				t.Fatal(err)
			}
		}
		if sent != 4 {
			t.Errorf("%d large answers were taken", sent)
		}
		// When the calls are over, nobody waits for the answers, and there is room again.
		hand.Add(int64(2 * executortest.Patience))
		late := makeCalls(target, 1)
		if _, err := living.Pull(limited(t), answersOf(yes, append(ids[:100:100], late...)...)); err != nil {
			t.Error(err)
		}
		if n := rows(t, pool); n != 1 {
			t.Errorf("%d answers wait in the end", n)
		}
	})
}

// TestWaitingAnswersOfAllAreBounded: many executors answer an admin that died.
func TestWaitingAnswersOfAllAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		makeCalls := dying(t, pool, time.Now)
		living := newAdmin(t, pool, true)
		waiting := make([]db.PullAnswer, pull.MaxAllWaiting)
		for i := range waiting {
			waiting[i] = db.PullAnswer{ID: strconv.Itoa(i), Asker: "gone", AppName: "orders", Address: "pull://n-" + strconv.Itoa(i), Body: []byte("p"), ExpiresAt: time.Now().Add(time.Hour).UnixMilli()}
		}
		if err := db.InsertPullAnswers(t.Context(), pool, waiting); err != nil {
			t.Fatal(err)
		}
		ids := makeCalls(target, 1)
		if _, err := living.Pull(limited(t), answersOf(yes, ids...)); !errors.Is(err, pull.ErrFull) {
			t.Errorf("beyond the bound of all: %v", err)
		}
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM punctual_pull_answer WHERE id = '0'"); err != nil {
			t.Fatal(err)
		}
		if _, err := living.Pull(limited(t), answersOf(yes, ids...)); err != nil {
			t.Error(err)
		}
	})
}

// TestALateAnswerIsNotLeft: an executor that cannot tell whether its answer was taken gives it to another admin as well. The call is over
// then, and what is written down for nobody is deleted.
func TestALateAnswerIsNotLeft(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		one, two := newAdmin(t, pool, true), newAdmin(t, pool, true)
		result := make(chan error, 1)
		go func() {
			_, err := one.client.Beat(limited(t), target)
			result <- err
		}()
		response, err := one.Pull(limited(t), ask("p-1"))
		if err != nil || len(response.Calls) != 1 {
			t.Fatalf("%+v, %v", response, err)
		}
		id := response.Calls[0].ID
		if _, err := one.Pull(t.Context(), answersOf(yes, id)); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		eventually(t, "nothing is left of the call", func() bool { return rows(t, pool) == 0 })
		if _, err := two.Pull(t.Context(), answersOf(yes, id)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "nothing is left of its second answer", func() bool { return rows(t, pool) == 0 })
	})
}
