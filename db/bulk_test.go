package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var bulkTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bulkJobs makes started jobs, due at 1000 + their number, and returns their ids.
func bulkJobs(t *testing.T, pool *db.Pool, n int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		id, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{JobGroup: 1, JobDesc: "job", ScheduleType: jobspec.ScheduleFixRate, MisfireStrategy: jobspec.MisfireDoNothing, GlueType: "BEAN"})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := db.New().StartJob(t.Context(), pool, db.StartJobParams{ID: id, NextTime: 1000 + int64(i)}); err != nil || n != 1 {
			t.Fatalf("start: %d, %v", n, err)
		}
		ids[i] = id
	}
	return ids
}

func bulkRuns(t *testing.T, pool *db.Pool, runs ...db.NewRun) []int64 {
	t.Helper()
	for i := range runs {
		runs[i].TriggerTime = bulkTime
	}
	ids, err := pool.Numbered(t.Context(), pool, len(runs), func() (int64, error) { return db.InsertRuns(t.Context(), pool, runs) })
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func bulkRun(t *testing.T, pool *db.Pool, id int64) db.Run {
	t.Helper()
	run, err := db.New().GetRun(t.Context(), pool, id)
	if err != nil {
		t.Fatalf("run %d: %v", id, err)
	}
	return run
}

func TestInsertRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		bulkRuns(t, pool, db.NewRun{JobID: 1})
		runs := make([]db.NewRun, db.MaxBatch)
		for i := range runs {
			runs[i] = db.NewRun{JobGroup: 2, JobID: int64(100 + i), Handler: "h", Param: fmt.Sprintf("第%d个", i), PlannedAt: int64(5000 + i), Type: jobspec.TriggerCron}
		}
		for i, id := range bulkRuns(t, pool, runs...) {
			if r := bulkRun(t, pool, id); r.JobID != int64(100+i) || string(r.ExecutorParam) != fmt.Sprintf("第%d个", i) || r.PlannedAt != int64(5000+i) {
				t.Fatalf("run %d is not the one inserted as number %d: %+v", id, i, r)
			}
		}
		full := db.NewRun{JobGroup: 3, JobID: 4, Address: "http://a/", Handler: "h", Param: "", Sharding: "1/2", Retries: 5, PlannedAt: 7, Owner: 8,
			Type: jobspec.TriggerRetry, Origin: 9, TriggerCode: 500, Message: "no; it's \\ 'quoted' \"twice\" ?", AlarmStatus: 1}
		id := bulkRuns(t, pool, full)[0]
		got := bulkRun(t, pool, id)
		got.TriggerTime.Time = got.TriggerTime.Time.UTC()
		want := db.Run{ID: id, JobGroup: 3, JobID: 4, ExecutorAddress: "http://a/", ExecutorHandler: "h", ExecutorShardingParam: "1/2",
			ExecutorFailRetryCount: 5, TriggerCode: 500, TriggerMsg: db.Text(full.Message), AlarmStatus: 1, PlannedAt: 7, OwnerNode: 8,
			TriggerType: jobspec.TriggerRetry, OriginLogID: 9}
		want.TriggerTime.Time, want.TriggerTime.Valid = bulkTime, true
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		bare := bulkRuns(t, pool, db.NewRun{JobID: 1})[0]
		for column, want := range map[string]bool{"executor_address": true, "executor_sharding_param": true, "trigger_msg": true,
			"handle_time": true, "handle_msg": true, "executor_handler": false, "executor_param": false} {
			var null bool
			if err := pool.QueryRowContext(t.Context(), "SELECT "+column+" IS NULL FROM xxl_job_log WHERE id = ?", bare).Scan(&null); err != nil || null != want {
				t.Errorf("%s is NULL: %t (%v), want %t", column, null, err, want)
			}
		}
	})
}

func TestAdvanceJobs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare string // done to the second job
		change  func(*db.Advance)
		count   int64
		next    int64 // of the second job
		status  int64
	}{
		{"all are moved", "", nil, 3, 2001, 1},
		{"one that was moved meanwhile stays", "UPDATE xxl_job_info SET trigger_next_time = 7 WHERE id = ?", nil, 2, 7, 1},
		{"one that was stopped stays", "UPDATE xxl_job_info SET trigger_status = 0 WHERE id = ?", nil, 2, 1001, 0},
		{"one that was deleted is missed", "DELETE FROM xxl_job_info WHERE id = ?", nil, 2, 0, 0},
		{"one that was read wrongly stays", "", func(a *db.Advance) { a.OldNext = 1000 }, 2, 1001, 1},
		{"a flow is hidden from XXL-JOB admins", "UPDATE xxl_job_info SET glue_type = 'FLOW' WHERE id = ?", func(a *db.Advance) { a.Flow = true }, 3, 2001, 2},
		{"one that is hidden is moved", "UPDATE xxl_job_info SET trigger_status = 2 WHERE id = ?", nil, 3, 2001, 2},
		{"a flow that ended is stopped", "", func(a *db.Advance) { a.Next, a.Stop, a.Flow = 0, true, true }, 3, 0, 0},
		{"one that ended is stopped", "", func(a *db.Advance) { a.Next, a.Stop = 0, true }, 3, 0, 0},
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, tt := range tests {
			ids := bulkJobs(t, pool, 3)
			if tt.prepare != "" {
				if _, err := pool.ExecContext(t.Context(), tt.prepare, ids[1]); err != nil {
					t.Fatal(err)
				}
			}
			advances := make([]db.Advance, 3)
			for i, id := range ids {
				advances[i] = db.Advance{ID: id, OldNext: 1000 + int64(i), Last: 1000 + int64(i), Next: 2000 + int64(i)}
			}
			if tt.change != nil {
				tt.change(&advances[1])
			}
			n, err := db.AdvanceJobs(t.Context(), pool, advances)
			if err != nil || n != tt.count {
				t.Errorf("%s: count %d (%v), want %d", tt.name, n, err, tt.count)
			}
			for i, id := range ids {
				job, err := db.New().GetJob(t.Context(), pool, id)
				if i != 1 {
					if err != nil || job.TriggerNextTime != 2000+int64(i) || job.TriggerLastTime != 1000+int64(i) || job.TriggerStatus != 1 {
						t.Errorf("%s: job %d of the batch: %+v, %v", tt.name, i, job, err)
					}
				} else if err == nil && (job.TriggerNextTime != tt.next || job.TriggerStatus != tt.status) {
					t.Errorf("%s: next %d and status %d, want %d and %d", tt.name, job.TriggerNextTime, job.TriggerStatus, tt.next, tt.status)
				}
			}
		}
		ids := bulkJobs(t, pool, db.MaxBatch)
		advances := make([]db.Advance, len(ids))
		for i, id := range ids {
			advances[i] = db.Advance{ID: id, OldNext: 1000 + int64(i), Last: 1, Next: 9000 + int64(i), Stop: i%3 == 0}
		}
		if n, err := db.AdvanceJobs(t.Context(), pool, advances); err != nil || n != db.MaxBatch {
			t.Errorf("a whole batch: %d, %v", n, err)
		}
		if n, err := db.AdvanceJobs(t.Context(), pool, advances); err != nil || n != 0 {
			t.Errorf("the same batch again: %d, %v", n, err)
		}
	})
}

func TestRecordSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkRuns(t, pool, db.NewRun{Owner: 1}, db.NewRun{Owner: 1, Address: "http://planned/"}, db.NewRun{Owner: 2}, db.NewRun{Owner: 1, TriggerCode: 500}, db.NewRun{Owner: 1})
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 200 WHERE id = ?", ids[4]); err != nil {
			t.Fatal(err)
		}
		sent := make([]db.Sent, len(ids))
		for i, id := range ids {
			sent[i] = db.Sent{ID: id, Address: fmt.Sprintf("http://%d/", i), Code: 200 + int64(i), Message: fmt.Sprint("message ", i), At: 70 + int64(i), Alarm: int64(i % 2)}
		}
		n, err := db.RecordSent(t.Context(), pool, 1, true, sent)
		if err != nil || n != 2 {
			t.Errorf("open ones of the owner: %d (%v), want 2", n, err)
		}
		if n, err = db.RecordSent(t.Context(), pool, 1, false, sent); err != nil || n != 1 {
			t.Errorf("then those with a result: %d (%v), want 1", n, err)
		}
		if n, err = db.RecordSent(t.Context(), pool, 1, false, sent); err != nil || n != 0 {
			t.Errorf("again: %d (%v), want none", n, err)
		}
		for i, id := range ids {
			r := bulkRun(t, pool, id)
			want := i != 2 && i != 3
			if got := r.TriggerCode == sent[i].Code && string(r.ExecutorAddress) == sent[i].Address && string(r.TriggerMsg) == sent[i].Message &&
				r.SentAt == sent[i].At && r.AlarmStatus == sent[i].Alarm; got != want {
				t.Errorf("run %d written: %t, want %t: %+v", i, got, want, r)
			}
		}
		// Values that all rows share are written another way.
		ids = bulkRuns(t, pool, db.NewRun{Owner: 3}, db.NewRun{Owner: 3})
		same := []db.Sent{{ID: ids[0], Code: 200, Message: "same", At: 5}, {ID: ids[1], Code: 200, Message: "same", At: 5}}
		if n, err := db.RecordSent(t.Context(), pool, 3, false, same); err != nil || n != 2 {
			t.Errorf("equal outcomes: %d, %v", n, err)
		}
		if r := bulkRun(t, pool, ids[1]); r.TriggerCode != 200 || r.TriggerMsg != "same" || r.SentAt != 5 || r.AlarmStatus != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestFinishRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkRuns(t, pool, make([]db.NewRun, 4)...)
		at := bulkTime.Add(time.Hour)
		finish := func(finishes ...db.Finish) int64 {
			n, err := db.FinishRuns(t.Context(), pool, at, 99, finishes)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := finish(db.Finish{ID: ids[0], Code: 200}, db.Finish{ID: ids[1], Code: 500, Message: "无", Alarm: 1}); n != 2 {
			t.Errorf("two open runs: %d", n)
		}
		if n := finish(db.Finish{ID: ids[1], Code: 200, Message: "late"}, db.Finish{ID: ids[2], Code: 200, Message: "in time"}); n != 1 {
			t.Errorf("one of which is done: %d", n)
		}
		if n := finish(db.Finish{ID: ids[3], Code: 200}); n != 1 {
			t.Errorf("one without a message: %d", n)
		}
		want := []struct {
			code, alarm int64
			message     db.Text
		}{{200, 0, ""}, {500, 1, "无"}, {200, 0, "in time"}, {200, 0, ""}}
		for i, id := range ids {
			r := bulkRun(t, pool, id)
			if r.HandleCode != want[i].code || r.AlarmStatus != want[i].alarm || r.HandleMsg != want[i].message || r.FinishedAt != 99 || !r.HandleTime.Time.Equal(at) {
				t.Errorf("run %d: %+v, want %+v", i, r, want[i])
			}
		}
		for _, i := range []int{0, 3} {
			var null bool
			if err := pool.QueryRowContext(t.Context(), "SELECT handle_msg IS NULL FROM xxl_job_log WHERE id = ?", ids[i]).Scan(&null); err != nil || !null {
				t.Errorf("run %d has a message although there was none (%v)", i, err)
			}
		}
		ids = bulkRuns(t, pool, make([]db.NewRun, db.MaxBatch)...)
		finishes := make([]db.Finish, len(ids))
		for i, id := range ids {
			finishes[i] = db.Finish{ID: id, Code: 200 + int64(i%4), Message: strings.Repeat("x", i), Alarm: int64(i % 2)}
		}
		if n := finish(finishes...); n != db.MaxBatch {
			t.Errorf("a whole batch: %d", n)
		}
		for _, i := range []int{0, 1, 77, db.MaxBatch - 1} {
			if r := bulkRun(t, pool, ids[i]); r.HandleCode != finishes[i].Code || string(r.HandleMsg) != finishes[i].Message || r.AlarmStatus != finishes[i].Alarm {
				t.Errorf("run %d: %+v", i, r)
			}
		}
	})
}

// bulkExec changes what a test has made.
func bulkExec(t *testing.T, pool *db.Pool, query string, args ...any) {
	t.Helper()
	if _, err := pool.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// TestAResultThatComesBeforeItsSendingIsWritten writes both at once: of the owner's runs only, of which nobody has written either, and of those
// whose rows were not read, nobody has asked for the end.
func TestAResultThatComesBeforeItsSendingIsWritten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, tt := range []struct {
			name    string
			prepare string // done to the second run
			unread  bool
			written bool
		}{
			{name: "nobody has written of it", written: true},
			{name: "another admin has taken it over", prepare: "owner_node = 6"},
			{name: "its sending is written", prepare: "trigger_code = 200"},
			{name: "it has a result", prepare: "handle_code = 500"},
			{name: "somebody wants it ended, as its row that was read says", prepare: "kill_asked_at = 3", written: true},
			{name: "somebody wants it ended, and its row was not read", prepare: "kill_asked_at = 3", unread: true},
			{name: "it is decided, and its row was not read", prepare: "outcome = 3", unread: true},
			{name: "nobody has written of it, and its row was not read", unread: true, written: true},
		} {
			ids := bulkRuns(t, pool, db.NewRun{Owner: 5, Message: "made. ", Events: "m"}, db.NewRun{Owner: 5, Message: "made. ", Events: "m"}, db.NewRun{Owner: 7})
			if tt.prepare != "" {
				bulkExec(t, pool, "UPDATE xxl_job_log SET "+tt.prepare+" WHERE id = ?", ids[1])
			}
			finishes := make([]db.Finish, len(ids))
			for i, id := range ids {
				n := int64(i)
				finishes[i] = db.Finish{ID: id, Owner: 5, Unread: tt.unread, Sent: &db.Sent{Address: fmt.Sprintf("http://%d/", i), Code: 200 + n, Message: "sent.", Events: "s", At: 70 + n},
					Code: 300 + n, Outcome: 1, Message: "done", Events: "f", Alarm: n}
			}
			finishes[2].Sent, finishes[2].Owner, finishes[2].Unread = nil, 0, false // its sending is written already
			finishes[1].FinishedAt, finishes[1].HandleTime = 88, bulkTime.Add(time.Minute)
			want := int64(2)
			if tt.written {
				want = 3
			}
			if n, err := db.FinishRuns(t.Context(), pool, bulkTime.Add(time.Hour), 99, finishes); err != nil || n != want {
				t.Errorf("%s: %d are written, want %d, %v", tt.name, n, want, err)
			}
			for i, id := range ids {
				var code, sentAt, result, outcome, finished, alarm int64
				var address, message, events, text sql.NullString
				var handled sql.NullTime
				if err := pool.QueryRowContext(t.Context(), `SELECT trigger_code, sent_at, handle_code, outcome, finished_at, alarm_status, executor_address, trigger_msg, events, handle_msg,
					handle_time FROM xxl_job_log WHERE id = ?`, id).Scan(&code, &sentAt, &result, &outcome, &finished, &alarm, &address, &message, &events, &text, &handled); err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprint(code, sentAt, result, outcome, finished, alarm, " ", address.String, " ", message.String, " ", events.String, " ", text.String, " ", handled.Time.UTC().Format("15:04"))
				is := []string{
					"200 70 300 1 99 0 http://0/ made. sent. msf done 13:00",
					"201 71 301 1 88 1 http://1/ made. sent. msf done 12:01",
					"0 0 302 1 99 2   f done 13:00",
				}[i]
				if i == 1 && !tt.written {
					if got == is || text.String == "done" || message.String != "made. " {
						t.Errorf("%s: it is written: %s", tt.name, got)
					}
				} else if got != is {
					t.Errorf("%s: run %d is %s, want %s", tt.name, i, got, is)
				}
			}
		}
	})
}

// TestOneRunAloneIsWrittenInFull, where no other of its batch has the columns written.
func TestOneRunAloneIsWrittenInFull(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkRuns(t, pool, db.NewRun{Owner: 5}, db.NewRun{Owner: 5}, db.NewRun{Owner: 5})
		if n, err := db.RecordSent(t.Context(), pool, 5, true, []db.Sent{{ID: ids[0], Code: 500, At: 70, Alarm: 1}}); err != nil || n != 1 {
			t.Errorf("sent: %d, %v", n, err)
		}
		for _, f := range []db.Finish{
			{ID: ids[1], Owner: 5, Sent: &db.Sent{Code: 200, Events: "s"}, Code: 200},
			{ID: ids[2], Code: 200, HandleTime: bulkTime, FinishedAt: 88},
		} {
			if n, err := db.FinishRuns(t.Context(), pool, bulkTime.Add(time.Hour), 99, []db.Finish{f}); err != nil || n != 1 {
				t.Errorf("finished: %d, %v", n, err)
			}
		}
		if r := bulkRun(t, pool, ids[0]); r.AlarmStatus != 1 {
			t.Errorf("the alarm of what is sent: %d", r.AlarmStatus)
		}
		var events string
		if err := pool.QueryRowContext(t.Context(), "SELECT events FROM xxl_job_log WHERE id = ?", ids[1]).Scan(&events); err != nil || events != "s" {
			t.Errorf("the events of its sending: %q, %v", events, err)
		}
		if r := bulkRun(t, pool, ids[2]); r.FinishedAt != 88 || !r.HandleTime.Time.Equal(bulkTime) {
			t.Errorf("it ended at %d, %s", r.FinishedAt, r.HandleTime.Time)
		}
	})
}

func TestAdmitRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, events := range []string{"", "w"} {
			ids := bulkRuns(t, pool, db.NewRun{Owner: -1, Events: "m"}, db.NewRun{Owner: 7, Events: "m"}, db.NewRun{Owner: -1, Events: "m", TriggerCode: 500}, db.NewRun{Owner: -1, Events: "m"}, db.NewRun{Owner: -1, Events: "m"})
			bulkExec(t, pool, "UPDATE xxl_job_log SET handle_code = 500 WHERE id = ?", ids[3])
			told := make([]db.Told, 4) // of the last nobody asked
			for i := range told {
				told[3-i] = db.Told{ID: ids[i], Events: events}
			}
			if n, err := db.AdmitRuns(t.Context(), pool, 5, told); err != nil || n != 1 {
				t.Errorf("%d are admitted, %v", n, err)
			}
			for i, want := range []string{"5 m" + events, "7 m", "-1 m", "-1 m", "-1 m"} {
				var owner int64
				var text string
				if err := pool.QueryRowContext(t.Context(), "SELECT owner_node, events FROM xxl_job_log WHERE id = ?", ids[i]).Scan(&owner, &text); err != nil || fmt.Sprint(owner, " ", text) != want {
					t.Errorf("run %d is %d %s, want %s, %v", i, owner, text, want, err)
				}
			}
		}
	})
}

func TestMoreIsToldOfTheRunsThatWereAskedForAlone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		runs := make([]db.NewRun, db.MaxBatch+2) // more than one statement has
		ids := bulkRuns(t, pool, runs...)
		var told []db.Told
		for _, id := range ids[1:] {
			told = append(told, db.Told{ID: id, Events: "e", Message: "more"})
		}
		if err := db.AddEvents(t.Context(), pool, told); err != nil {
			t.Fatal(err)
		}
		var all, first int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*), COALESCE(SUM(CASE WHEN id = ? THEN 1 ELSE 0 END), 0) FROM xxl_job_log WHERE events = 'e' AND trigger_msg = 'more'", ids[0]).
			Scan(&all, &first); err != nil || all != len(told) || first != 0 {
			t.Errorf("%d are told, %d of them unasked, want %d, %v", all, first, len(told), err)
		}
	})
}

func TestRecordBegun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkRuns(t, pool, db.NewRun{Owner: -1}, db.NewRun{Owner: 7}, db.NewRun{Owner: -1}, db.NewRun{Owner: -1})
		bulkExec(t, pool, "UPDATE xxl_job_log SET handle_code = 500 WHERE id = ?", ids[2])
		begun := make([]db.Sent, 3)
		for i := range begun {
			begun[i] = db.Sent{ID: ids[i], Stays: true, Code: 200, At: 70}
		}
		begun[0].Outcome = 3
		if n, err := db.RecordBegun(t.Context(), pool, -1, 5, begun); err != nil || n != 1 {
			t.Errorf("%d have begun, %v", n, err)
		}
		for i, want := range []string{"5 200 3", "7 0 0", "-1 0 0", "-1 0 0"} {
			if r := bulkRun(t, pool, ids[i]); fmt.Sprint(r.OwnerNode, r.TriggerCode, int64(r.Outcome)) != want {
				t.Errorf("run %d: owner %d, sent %d, outcome %d, want %s", i, r.OwnerNode, r.TriggerCode, r.Outcome, want)
			}
		}
	})
}

// TestWhatAnAdvanceWritesAndAsks: the columns beside the next time, and what they must be.
func TestWhatAnAdvanceWritesAndAsks(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, tt := range []struct {
			name, prepare string
			change        func(*db.Advance)
			want          string // claimed, last, and since when, by which revision and until when it is held back; empty: it stays
		}{
			{"the fire that is due", "", func(*db.Advance) {}, "1001 1000 0 0 0"},
			{"others are decided too", "", func(a *db.Advance) { a.Claimed = 1501 }, "1501 1000 0 0 0"},
			{"none is", "", func(a *db.Advance) { a.Last = 900 }, "1001 900 0 0 0"},
			{"a pause holds it back", "", func(a *db.Advance) { a.Hold, a.Pauses = 1400, 8 }, "1001 1000 1400 8 2000"},
			{"it was claimed meanwhile, and put back", "claimed_until = 1600", func(*db.Advance) {}, ""},
			{"it was put back before it was read", "claimed_until = 1600", func(a *db.Advance) { a.OldClaimed = 1600 }, "1001 1000 0 0 0"},
			{"it was put back once more", "claimed_until = 1700", func(a *db.Advance) { a.OldClaimed = 1600 }, ""},
			{"an XXL-JOB admin has it", "", func(a *db.Advance) { a.Beside = true }, ""},
			{"no XXL-JOB admin has it", "trigger_status = 2", func(a *db.Advance) { a.Beside = true }, "1001 1000 0 0 0"},
		} {
			id := bulkJobs(t, pool, 1)[0]
			if tt.prepare != "" {
				bulkExec(t, pool, "UPDATE xxl_job_info SET "+tt.prepare+" WHERE id = ?", id)
			}
			a := db.Advance{ID: id, OldNext: 1000, Last: 1000, Next: 2000, Claimed: 1001}
			tt.change(&a)
			n, err := db.AdvanceJobs(t.Context(), pool, []db.Advance{a})
			if err != nil || (n == 1) != (tt.want != "") {
				t.Errorf("%s: %d, %v", tt.name, n, err)
			}
			var claimed, last, paused, rev, until int64
			if err := pool.QueryRowContext(t.Context(), "SELECT claimed_until, trigger_last_time, paused_at, paused_rev, paused_next FROM xxl_job_info WHERE id = ?", id).
				Scan(&claimed, &last, &paused, &rev, &until); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(claimed, last, paused, rev, until); tt.want != "" && got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		// Of two, one is held back and the other is not.
		ids := bulkJobs(t, pool, 2)
		advances := []db.Advance{{ID: ids[0], OldNext: 1000, Last: 1000, Next: 2000, Claimed: 1001}, {ID: ids[1], OldNext: 1001, Last: 1001, Next: 2001, Claimed: 1002, Hold: 1400, Pauses: 8}}
		if n, err := db.AdvanceJobs(t.Context(), pool, advances); err != nil || n != 2 {
			t.Errorf("two: %d, %v", n, err)
		}
		var free, held int64
		if err := pool.QueryRowContext(t.Context(), "SELECT (SELECT paused_next FROM xxl_job_info WHERE id = ?), (SELECT paused_next FROM xxl_job_info WHERE id = ?)", ids[0], ids[1]).
			Scan(&free, &held); err != nil || free != 0 || held != 2001 {
			t.Errorf("held back until %d and %d, %v", free, held, err)
		}
	})
}

// TestNeighboursShareAValue: each row gets its own, in whatever order and stretches the values come, and what a server reads of a batch grows
// with the values and not with the rows.
func TestNeighboursShareAValue(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, long := range []int{1, 2, 7, 40, 300} { // rows of a stretch
			ids := bulkRuns(t, pool, make([]db.NewRun, db.MaxBatch)...)
			sent := make([]db.Sent, len(ids))
			for i, id := range ids {
				sent[(i*77)%len(ids)] = db.Sent{ID: id, Stays: true, Code: 200, At: int64(1 + i/long%13)}
			}
			args := 0
			if n, err := db.RecordSent(t.Context(), counted{pool, &args}, 0, false, sent); err != nil || n != int64(len(ids)) {
				t.Fatalf("stretches of %d: %d, %v", long, n, err)
			}
			if most := len(ids) + 2*(len(ids)/long+1)*17/16 + 10; args > most {
				t.Errorf("stretches of %d: %d values are sent, want at most %d", long, args, most)
			}
			for i, id := range ids {
				if r := bulkRun(t, pool, id); r.SentAt != int64(1+i/long%13) {
					t.Fatalf("stretches of %d: run %d of %d was sent at %d", long, i, len(ids), r.SentAt)
				}
			}
		}
	})
}

// TestAnInsertNamesNoColumnInVain: what a usual run says nothing in is not read by the server for each row.
func TestAnInsertNamesNoColumnInVain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		args := 0
		usual := db.NewRun{JobGroup: 1, JobID: 2, TriggerTime: bulkTime, Handler: "h", PlannedAt: 5, Owner: 1, Type: jobspec.TriggerCron, Message: "m", Events: "e", Address: "a"}
		if _, err := db.InsertRuns(t.Context(), counted{pool, &args}, []db.NewRun{usual, usual}); err != nil {
			t.Fatal(err)
		}
		if args != 2*13 {
			t.Errorf("%d values of two runs, want 26", args)
		}
	})
}

// counted counts the values of statements.
type counted struct {
	db.DBTX
	args *int
}

func (c counted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	*c.args += len(args)
	return c.DBTX.ExecContext(ctx, query, args...)
}

// TestTheIdsOfAnInsertAreKnownWhateverTheirDistance: as all sessions of a pool said, where they differ, and where the cluster sets it.
func TestTheIdsOfAnInsertAreKnownWhateverTheirDistance(t *testing.T) {
	t.Parallel()
	dsn := dbtest.Migrated(t)
	plain, mixed, galera := dbtest.Open(t, db.Config{URL: dsn}), dbtest.Open(t, db.Config{URL: dsn}), dbtest.Open(t, db.Config{URL: dsn})
	mixed.MixDistances()
	galera.SetGalera(true)
	check := func(name string, pool *db.Pool, step int, set bool) {
		t.Helper()
		tries := 0
		var ids []int64
		err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
			tries++
			if set {
				if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("SET SESSION auto_increment_increment = %d", step)); err != nil {
					return err
				}
			}
			var err error
			ids, err = pool.Numbered(t.Context(), tx, 3, func() (int64, error) {
				return db.InsertRuns(t.Context(), tx, []db.NewRun{{JobID: 1, TriggerTime: bulkTime}, {JobID: 2, TriggerTime: bulkTime}, {JobID: 3, TriggerTime: bulkTime}})
			})
			if set { // the connection is lent
				_, reset := tx.ExecContext(t.Context(), "SET SESSION auto_increment_increment = 1")
				err = errors.Join(err, reset)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// On Galera the first to see another distance cannot know which of the two its rows have.
		if want := 1; tries != want && !(pool == galera && tries == 2) {
			t.Errorf("%s, distance %d: %d tries", name, step, tries)
		}
		for i, id := range ids {
			if r := bulkRun(t, pool, id); r.JobID != int64(i+1) {
				t.Errorf("%s, distance %d: run %d is of job %d, want %d", name, step, id, r.JobID, i+1)
			}
		}
	}
	for _, step := range []int{1, 3, 2} {
		url := dsn + map[bool]string{true: "&", false: "?"}[strings.Contains(dsn, "?")] + "auto_increment_increment=" + strconv.Itoa(step)
		check("from the beginning", dbtest.Open(t, db.Config{URL: url}), step, false)
		check("mixed", mixed, step, true)
		check("galera", galera, step, true)
	}
	check("as it is", plain, 1, false)
}

func TestCatchUpLeavesTheConnectionAsItWas(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), MaxConns: 1})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(pool.Product(), "MariaDB") {
		t.Skip("only MariaDB can be a node of Galera's")
	}
	if err := pool.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wait int
	if err := pool.QueryRowContext(t.Context(), "SELECT @@wsrep_sync_wait").Scan(&wait); err != nil || wait != 0 {
		t.Errorf("wsrep_sync_wait is %d, %v", wait, err)
	}
}

// TestIDsWhileTheDistanceChanges: a node of a Galera cluster goes between an INSERT and the question how far apart its ids are, and another
// transaction has asked meanwhile. Rows of one run with the ids of another's were steps that ran twice, and others that never did.
func TestIDsWhileTheDistanceChanges(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	pool.SetGalera(true)
	set := func(on db.DBTX, distance int) {
		t.Helper()
		if _, err := on.ExecContext(t.Context(), fmt.Sprintf("SET SESSION auto_increment_increment = %d", distance)); err != nil {
			t.Fatal(err)
		}
	}
	insert := func(tx *sql.Tx, after func()) (ids []int64, err error) {
		return pool.Numbered(t.Context(), tx, 3, func() (int64, error) {
			first, err := db.InsertRuns(t.Context(), tx, []db.NewRun{{JobID: 1, TriggerTime: bulkTime}, {JobID: 2, TriggerTime: bulkTime}, {JobID: 3, TriggerTime: bulkTime}})
			after()
			return first, err
		})
	}
	var ids []int64
	tries := 0
	err := pool.Tx(t.Context(), func(tx *sql.Tx) (err error) {
		if tries++; tries > 1 {
			set(tx, 2)
			ids, err = insert(tx, func() {})
			set(tx, 1)
			return err
		}
		dbtest.Hold(t, pool, tx)
		set(tx, 3)
		ids, err = insert(tx, func() {
			err := pool.Tx(t.Context(), func(other *sql.Tx) error {
				set(other, 2)
				_, err := insert(other, func() {})
				set(other, 1)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			set(tx, 2) // as the cluster does for the next statement
		})
		set(tx, 1)
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries: %v", tries, err)
	}
	for i, id := range ids {
		if r := bulkRun(t, pool, id); r.JobID != int64(i+1) {
			t.Errorf("run %d is of job %d, want %d", id, r.JobID, i+1)
		}
	}
}

// TestSlotsAreCountedWhateverWaits: what has a slot is counted to the end, and of what waits, which may be the steps of many flows, no more than is asked
// for.
func TestSlotsAreCountedWhateverWaits(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var slots []db.Slot
		var jobs []int64
		for id := range int64(250) {
			jobs = append(jobs, id)
			if id != 7 {
				slots = append(slots, db.Slot{JobID: id, LogID: 1 + id})
			}
		}
		for id := range int64(6) {
			slots = append(slots, db.Slot{JobID: 8, LogID: 1000 + id})
		}
		if err := db.InsertSlots(t.Context(), pool, slots); err != nil {
			t.Fatal(err)
		}
		if _, err := db.New().TakeSlots(t.Context(), pool, []int64{1000, 1001}); err != nil {
			t.Fatal(err)
		}
		for most, want := range map[int64]db.SlotCount{0: {JobID: 8, Running: 2}, 3: {JobID: 8, Running: 2, Waiting: 3}, 10: {JobID: 8, Running: 2, Waiting: 5}} {
			got, err := db.CountSlots(t.Context(), pool, []int64{7, 8}, most)
			if err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("up to %d that wait: %+v, want %+v, %v", most, got, want, err)
			}
		}
		if got, err := db.CountSlots(t.Context(), pool, jobs, 1); err != nil || len(got) != len(jobs)-1 {
			t.Errorf("%d of %d jobs are counted, %v", len(got), len(jobs), err)
		}
	})
}

// TestWhatIsWrittenByItselfIsOneStatement: outside of a transaction each statement is a commit of its own, of which some may fail.
func TestWhatIsWrittenByItselfIsOneStatement(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	const n = 300
	for name, write := range map[string]func(db.DBTX) error{
		"SaveFileJobs": func(tx db.DBTX) error {
			jobs := make([]db.SaveFileJobParams, n)
			for i := range jobs {
				jobs[i].JobID = int64(i + 1)
			}
			return db.SaveFileJobs(t.Context(), tx, jobs)
		},
		"InsertPulls": func(tx db.DBTX) error {
			calls := make([]db.Pull, n)
			for i := range calls {
				calls[i].ID = fmt.Sprint(i)
			}
			return db.InsertPulls(t.Context(), tx, calls)
		},
		"InsertPullAnswers": func(tx db.DBTX) error {
			answers := make([]db.PullAnswer, n)
			for i := range answers {
				answers[i].ID = fmt.Sprint(i)
			}
			return db.InsertPullAnswers(t.Context(), tx, answers)
		},
		"UpsertPullSeen": func(tx db.DBTX) error {
			seen := make([]db.PullSeen, n)
			for i := range seen {
				seen[i].Address = fmt.Sprint(i)
			}
			return db.UpsertPullSeen(t.Context(), tx, seen)
		},
		"PutOffOutputs": func(tx db.DBTX) error {
			late := make([]db.LateOutput, n)
			for i := range late {
				late[i].LogID = int64(i + 1)
			}
			return db.PutOffOutputs(t.Context(), tx, late)
		},
		"LoseOutputs": func(tx db.DBTX) error {
			lost := make([]db.LostOutput, n)
			for i := range lost {
				lost[i].LogID = int64(i + 1001)
			}
			return db.LoseOutputs(t.Context(), tx, lost)
		},
	} {
		heard := &overheard{DBTX: pool}
		if err := write(heard); err != nil || len(heard.statements) != 1 {
			t.Errorf("%s wrote %d rows in %d statements: %v", name, n, len(heard.statements), err)
		}
	}
}
