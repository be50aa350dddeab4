package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestTheCommonTokenDoesNotLeadToAGroupsOwn is an attack: whoever knows the common token registers an address for a group that has
// a token of its own, refuses the runs that come, and waits for the next token.
func TestTheCommonTokenDoesNotLeadToAGroupsOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		group, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		job, err := db.New().InsertJob(t.Context(), a.pool, db.InsertJobParams{
			JobGroup: group, JobDesc: "pay", ScheduleType: jobspec.ScheduleNone, MisfireStrategy: jobspec.MisfireDoNothing,
			ExecutorRouteStrategy: jobspec.RouteRound, ExecutorHandler: "pay", ExecutorBlockStrategy: "SERIAL_EXECUTION", GlueType: wire.GlueBean,
		})
		if err != nil {
			t.Fatal(err)
		}
		refuse := func(w http.ResponseWriter, _ executortest.Request, _ <-chan struct{}) {
			_, _ = w.Write(wire.AppendAnswer(nil, wire.CodeFail, "The access token is wrong.", nil))
		}
		thief, friend := executortest.NewStub(t), executortest.NewStub(t)
		thief.Behave(refuse)
		common := program{t, a.Welcome().URL, o.AccessToken}
		register := func(url string) string {
			raw, _ := json.Marshal(wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: url})
			return string(raw)
		}
		sent := func(s *executortest.Stub) []string {
			var tokens []string
			for _, r := range s.Requests() {
				tokens = append(tokens, r.Header.Get(wire.HeaderToken))
			}
			return tokens
		}
		trigger := func() int64 {
			t.Helper()
			ids, err := a.engine.Trigger(t.Context(), scheduler.TriggerRequest{JobID: job, Type: jobspec.TriggerManual})
			if err != nil || len(ids) != 1 {
				t.Fatal(ids, err)
			}
			executortest.Eventually(t, "outcome of the sending", func() error {
				r, err := db.New().GetRun(t.Context(), a.pool, ids[0])
				if err == nil && r.TriggerCode == 0 {
					err = executortest.ErrNotYet
				}
				return err
			})
			return ids[0]
		}

		common.must("registry", register(thief.URL)) // the group has no token yet
		own, err := a.tokens.Rotate(t.Context(), "orders", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		trigger()
		if _, err := a.tokens.Rotate(t.Context(), "orders", 0); err != nil { // the hand-over is over
			t.Fatal(err)
		}
		current := a.tokens.For("orders")
		trigger()
		if got := sent(thief); len(got) < 2 {
			t.Errorf("the thief was asked %d times; the test shows nothing", len(got))
		} else {
			for _, token := range got {
				if token != o.AccessToken && token != "" {
					t.Errorf("the thief was sent %q", token)
				}
			}
		}

		common.refused("registry", register(friend.URL), "access token is wrong")
		common.refused("registryRemove", register(thief.URL), "access token is wrong")
		orders := program{t, a.Welcome().URL, current}
		orders.must("registryRemove", register(thief.URL))
		orders.must("registry", register(friend.URL))
		run := trigger()
		if got := sent(friend); len(got) == 0 || got[len(got)-1] != current {
			t.Errorf("the friend was sent %q, want %q", got, current)
		}
		result := `[{"logId":` + strconv.FormatInt(run, 10) + `,"handleCode":200}]`
		common.refused("callback", result, "access token is wrong") // whoever names no group may be one of it, and keeps the result
		if r, _ := db.New().GetRun(t.Context(), a.pool, run); r.HandleCode != 0 {
			t.Error("the common token reported a result of the group's run")
		}
		orders.must("callback", result)
		if r, _ := db.New().GetRun(t.Context(), a.pool, run); r.HandleCode != 200 {
			t.Error("the group's own did not")
		}
		if strings.Join(sent(thief), " ") != "" && strings.Contains(strings.Join(sent(thief), " "), own) {
			t.Error("the thief has the group's first token")
		}
	})
}

// TestANameThatOnlyLooksLikeAGroupsIsNotItsOwn: to MySQL's collations it is the same. Whoever knows the common token takes no executor away from
// a group that has a token of its own, and does not have it called without one.
func TestANameThatOnlyLooksLikeAGroupsIsNotItsOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		if _, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders"}); err != nil {
			t.Fatal(err)
		}
		if err := a.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		own, err := a.tokens.Rotate(t.Context(), "orders", 0)
		if err != nil {
			t.Fatal(err)
		}
		common, orders := program{t, a.Welcome().URL, o.AccessToken}, program{t, a.Welcome().URL, own}
		as := func(name string) string {
			raw, _ := json.Marshal(wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: name, RegistryValue: "http://192.0.2.9:9999/"})
			return string(raw)
		}
		orders.must("registry", as("orders"))
		for _, name := range []string{"órders", "o\u0301rders", "ｏrders", "orderſ"} {
			common.refused("registry", as(name), "No executor group has this registryKey")
			common.refused("registryRemove", as(name), "No executor group has this registryKey")
			rows, err := db.New().ListRegistry(t.Context(), a.pool)
			rows = slices.DeleteFunc(rows, func(r db.ListRegistryRow) bool { return r.RegistryValue != "http://192.0.2.9:9999/" })
			if err != nil || len(rows) != 1 || rows[0].RegistryKey != "orders" || rows[0].TokenShown != auth.Fingerprint(own) {
				t.Fatalf("after %s the group's executor is %+v, %v", name, rows, err)
			}
		}
		if _, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: "订单", Title: "orders"}); err != nil { // as XXL-JOB takes them
			t.Fatal(err)
		}
		if err := a.engine.GroupsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		common.must("registry", as("订单"))
		common.must("registryRemove", as("订单"))
	})
}
