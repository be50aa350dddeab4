package db_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// foundRun is a row that a filter takes or leaves.
type foundRun struct {
	id, group, job, sentCode, code, retries, sentAt, endedAt int64
	trigger                                                  jobspec.TriggerType
	outcome                                                  event.Outcome
	at                                                       time.Time
	address, param, sending, result                          string
}

// addFoundRuns makes runs of all kinds, the same in each test.
func addFoundRuns(t *testing.T, pool *db.Pool) []foundRun {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	one := func(of ...int64) int64 { return of[r.IntN(len(of))] }
	word := func() string { return []string{"", "one", "two", "50% off", "50 off"}[r.IntN(5)] }
	outcomes := event.AllOutcomes()
	runs := make([]foundRun, 400)
	err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
		for i := range runs {
			f := foundRun{
				id: int64(10 + 3*i), group: one(1, 2, 3), job: one(1, 2, 3, 4), sentCode: one(0, 200, 500), code: one(0, 200, 500, 502), retries: one(0, 0, 1),
				sentAt: one(0, 1000, 2000), endedAt: one(0, 2500, 9000), trigger: []jobspec.TriggerType{"CRON", "MANUAL", "TRIAL"}[r.IntN(3)],
				outcome: outcomes[r.IntN(len(outcomes))], at: bulkTime.Add(time.Duration(i) * time.Minute), address: word(), param: word(), sending: word(), result: word(),
			}
			runs[i] = f
			_, err := tx.ExecContext(t.Context(), `INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, executor_fail_retry_count, sent_at, finished_at, trigger_type, outcome,
				trigger_time, executor_address, executor_param, trigger_msg, handle_msg) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				f.id, f.group, f.job, f.sentCode, f.code, f.retries, f.sentAt, f.endedAt, f.trigger, int64(f.outcome), f.at, f.address, f.param, f.sending, f.result)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// TestRunsAreFoundByWhatIsAskedFor compares each filter with a look at every run, within bounds, up to a limit and in both orders.
func TestRunsAreFoundByWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	since, until := bulkTime.Add(30*time.Minute), bulkTime.Add(300*time.Minute)
	taken := func(r foundRun) bool { return r.sentCode == 0 || r.sentCode == 200 }
	has := func(r foundRun, text string) bool {
		return strings.Contains(r.address, text) || strings.Contains(r.param, text) || strings.Contains(r.sending, text) || strings.Contains(r.result, text)
	}
	tests := []struct {
		name   string
		filter db.RunFilter
		takes  func(foundRun) bool
	}{
		{"all", db.RunFilter{}, func(foundRun) bool { return true }},
		{"some ids", db.RunFilter{IDs: []int64{10, 13, 100, 11}}, func(r foundRun) bool { return r.id == 10 || r.id == 13 || r.id == 100 }},
		{"a job", db.RunFilter{Job: 2}, func(r foundRun) bool { return r.job == 2 }},
		{"a job, in a group", db.RunFilter{Job: 2, Groups: []int64{3}}, func(r foundRun) bool { return r.job == 2 && r.group == 3 }},
		{"two groups", db.RunFilter{Groups: []int64{1, 3}}, func(r foundRun) bool { return r.group != 2 }},
		{"two groups and two results", db.RunFilter{Groups: []int64{1, 3}, Codes: []int64{200, 502}}, func(r foundRun) bool { return r.group != 2 && (r.code == 200 || r.code == 502) }},
		{"more groups than are read each", db.RunFilter{Groups: []int64{1, 2, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104}}, func(r foundRun) bool { return r.group != 3 }},
		{"a result", db.RunFilter{Codes: []int64{500}}, func(r foundRun) bool { return r.code == 500 }},
		{"no result", db.RunFilter{Codes: []int64{0}}, func(r foundRun) bool { return r.code == 0 }},
		{"open", db.RunFilter{Codes: []int64{0}, Open: true}, func(r foundRun) bool { return r.code == 0 && taken(r) }},
		{"failed", db.RunFilter{Codes: []int64{0, 500}, Failed: true}, func(r foundRun) bool { return (r.code == 500 || r.code == 0 && !taken(r)) && !r.outcome.Passed() }},
		{"failed for good", db.RunFilter{Codes: []int64{0, 500}, Failed: true, Final: true}, func(r foundRun) bool {
			return (r.code == 500 || r.code == 0 && !taken(r)) && !r.outcome.Passed() && (r.retries == 0 || !r.outcome.Retried())
		}},
		{"waiting", db.RunFilter{Waiting: true}, func(r foundRun) bool { return r.sentCode == 0 }},
		{"sent", db.RunFilter{Sent: true}, func(r foundRun) bool { return r.sentCode == 200 }},
		{"since", db.RunFilter{Since: since}, func(r foundRun) bool { return !r.at.Before(since) }},
		{"until", db.RunFilter{Until: until}, func(r foundRun) bool { return !r.at.After(until) }},
		{"by hand", db.RunFilter{Trigger: "MANUAL"}, func(r foundRun) bool { return r.trigger == "MANUAL" }},
		{"fires", db.RunFilter{Fires: true}, func(r foundRun) bool { return r.trigger != "TRIAL" }},
		{"outcomes", db.RunFilter{Outcomes: []event.Outcome{event.Killed, event.Lost}}, func(r foundRun) bool { return r.outcome == event.Killed || r.outcome == event.Lost }},
		{"long", db.RunFilter{LongerMs: 1500}, func(r foundRun) bool { return r.sentAt > 0 && r.endedAt-r.sentAt >= 1500 }},
		{"an address", db.RunFilter{Executor: "%on%"}, func(r foundRun) bool { return strings.Contains(r.address, "on") }},
		{"a text", db.RunFilter{Text: "%one%"}, func(r foundRun) bool { return has(r, "one") }},
		{"a text with a wildcard in it, or an id", db.RunFilter{Text: "%50!% off%", TextID: 100}, func(r foundRun) bool { return has(r, "50% off") || r.id == 100 }},
		{"all but one", db.RunFilter{Except: 100}, func(r foundRun) bool { return r.id != 100 }},
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		runs := addFoundRuns(t, pool)
		for _, tt := range tests {
			for _, window := range [][3]int64{{0, 10_000, 1000}, {0, 10_000, 7}, {100, 700, 20}, {103, 103, 20}} {
				from, before, limit := window[0], window[1], int(window[2])
				var up []int64
				for _, r := range runs {
					if r.id >= from && r.id < before && tt.takes(r) {
						up = append(up, r.id)
					}
				}
				down := slices.Clone(up)
				slices.Reverse(down)
				up, down = up[:min(limit, len(up))], down[:min(limit, len(down))]
				check := func(what string, got, want []int64, err error) {
					t.Helper()
					if diff := cmp.Diff(want, got); len(want)+len(got) > 0 && diff != "" || err != nil {
						t.Errorf("%s of %s from %d to %d, %d: %v (-want +got):\n%s", what, tt.name, from, before, limit, err, diff)
					}
				}
				rows, err := db.FindRuns(t.Context(), pool, tt.filter, from, before, limit)
				check("runs", db.IDs(rows, func(r *db.RunRow) int64 { return r.ID }), down, err)
				ids, err := db.FindRunIDs(t.Context(), pool, tt.filter, from, before, limit, true)
				check("the newest ids", ids, down, err)
				ids, err = db.FindRunIDs(t.Context(), pool, tt.filter, from, before, limit, false)
				check("the oldest ids", ids, up, err)
				times, err := db.FindRunTimes(t.Context(), pool, tt.filter, from, before, limit)
				timed := db.IDs(times, func(r *db.RunTimes) int64 { return r.ID })
				slices.Sort(timed)
				slices.Reverse(timed)
				check("times", timed[:min(limit, len(timed))], down, err) // each branch goes up to the limit
			}
		}
		codes, err := db.ListResultCodes(t.Context(), pool)
		if err != nil || !slices.Equal(codes, []int64{0, 200, 500, 502}) {
			t.Errorf("the results are %v, %v", codes, err)
		}
		mustExec(t, pool.DB, "UPDATE xxl_job_log SET handle_code = id WHERE id < 100") // more than are told apart
		if codes, err = db.ListResultCodes(t.Context(), pool); err != nil || len(codes) != 10 {
			t.Errorf("the results are %v, %v", codes, err)
		}
	})
}

// TestAuditEntriesAreFoundByWhatIsAskedFor does so for the audit log, in lists, for exports and in the order of their making.
func TestAuditEntriesAreFoundByWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		filter db.AuditFilter
		takes  func(db.AuditEntry) bool
	}{
		{"all", db.AuditFilter{}, func(db.AuditEntry) bool { return true }},
		{"a user", db.AuditFilter{User: "ann"}, func(e db.AuditEntry) bool { return e.UserName == "ann" }},
		{"an action", db.AuditFilter{Action: "update"}, func(e db.AuditEntry) bool { return e.Action == "update" }},
		{"a kind", db.AuditFilter{Kind: "job"}, func(e db.AuditEntry) bool { return e.ObjectKind == "job" }},
		{"an object", db.AuditFilter{Kind: "job", ObjectID: 2}, func(e db.AuditEntry) bool { return e.ObjectKind == "job" && e.ObjectID == 2 }},
		{"a number of any kind", db.AuditFilter{ObjectID: 2}, func(e db.AuditEntry) bool { return e.ObjectID == 2 }},
		{"a group", db.AuditFilter{GroupID: 1}, func(e db.AuditEntry) bool { return e.GroupID == 1 }},
		{"a name or an address", db.AuditFilter{Text: "%10!_a%"}, func(e db.AuditEntry) bool {
			return strings.Contains(e.ObjectName, "10_a") || strings.Contains(e.Address, "10_a")
		}},
		{"what it says of afterwards", db.AuditFilter{After: "%none%"}, func(e db.AuditEntry) bool { return strings.Contains(string(e.AfterJSON), "none") }},
		{"until", db.AuditFilter{UntilMs: 150}, func(e db.AuditEntry) bool { return e.MadeAt <= 150 }},
		{"several at once", db.AuditFilter{User: "bob", Action: "update", Kind: "job", GroupID: 2, UntilMs: 250}, func(e db.AuditEntry) bool {
			return e.UserName == "bob" && e.Action == "update" && e.ObjectKind == "job" && e.GroupID == 2 && e.MadeAt <= 250
		}},
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		r := rand.New(rand.NewPCG(3, 4))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		var all []db.AuditEntry
		for i := range int64(300) {
			e := db.AuditEntry{
				MadeAt: i, UserID: 7, UserName: pick("ann", "bob", "cy"), Address: pick("10.0.0.1", "10_a"), Action: pick("update", "login"), ObjectKind: pick("job", "user"), ObjectID: r.Int64N(4),
				ObjectName: pick("nightly", "a 10_a", "100a"), GroupID: r.Int64N(3), BeforeJSON: db.Text(pick("", `{"a":1}`)), AfterJSON: db.Text(pick("", `{"way":"none"}`, `{"way":"code"}`)),
			}
			var err error
			if e.ID, err = db.New().InsertAudit(t.Context(), pool, db.InsertAuditParams{
				MadeAt: e.MadeAt, UserID: e.UserID, UserName: e.UserName, Address: e.Address, Action: e.Action, ObjectKind: e.ObjectKind, ObjectID: e.ObjectID,
				ObjectName: e.ObjectName, GroupID: e.GroupID, BeforeJSON: e.BeforeJSON, AfterJSON: e.AfterJSON,
			}); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		first := all[0].ID
		for _, tt := range tests {
			for _, window := range [][3]int64{{0, first + 1000, 1000}, {0, first + 1000, 5}, {first + 40, first + 200, 20}} {
				from, before, limit := window[0], window[1], int(window[2])
				var want []db.AuditEntry
				for _, e := range all {
					if e.ID >= from && e.ID < before && tt.takes(e) {
						want = append(want, e)
					}
				}
				at := fmt.Sprintf("%s from %d to %d, %d", tt.name, from, before, limit)
				ids := db.IDs(want, func(e *db.AuditEntry) int64 { return e.ID })
				if got, err := db.FindAuditIDs(t.Context(), pool, tt.filter, from, before, limit); err != nil || !slices.Equal(got, ids[:min(limit, len(ids))]) {
					t.Errorf("the ids of %s: %v, %v, want %v", at, got, err, ids)
				}
				slices.Reverse(want)
				want = want[:min(limit, len(want))]
				whole, err := db.FindWholeAudit(t.Context(), pool, tt.filter, from, before, limit)
				if diff := cmp.Diff(want, whole); err != nil || diff != "" {
					t.Errorf("%s, whole: %v (-want +got):\n%s", at, err, diff)
				}
				rows := make([]db.AuditRow, len(want))
				for i, e := range want {
					rows[i] = db.AuditRow{ID: e.ID, MadeAt: e.MadeAt, UserID: e.UserID, UserName: e.UserName, Address: e.Address, Action: e.Action, ObjectKind: e.ObjectKind, ObjectID: e.ObjectID, ObjectName: e.ObjectName}
				}
				list, err := db.FindAudit(t.Context(), pool, tt.filter, from, before, limit)
				if diff := cmp.Diff(rows, list); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got):\n%s", at, err, diff)
				}
			}
		}
		for limit, want := range map[int][]string{10: {"ann", "bob", "cy"}, 2: {"ann", "bob"}} {
			if names, err := db.ListAuditUsers(t.Context(), pool, limit); err != nil || !slices.Equal(names, want) {
				t.Errorf("users, at most %d: %v, %v", limit, names, err)
			}
		}
	})
}
