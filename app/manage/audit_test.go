package manage

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// story is what the log says, oldest first.
func (b *bundle) story(t *testing.T, f AuditFilter) []string {
	t.Helper()
	f.Limit = 100
	list, err := b.Audit.List(t.Context(), b.admin, f)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list.Entries {
		lines = append([]string{e.UserName + " " + e.Action + " " + e.ObjectKind + " " + e.ObjectName}, lines...)
	}
	return lines
}

// TestAnExportSaysWhatWasTaken: of one thing, not of all of its kind.
func TestAnExportSaysWhatWasTaken(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		take := func(db.AuditEntry) error { return nil }
		since := time.Date(2020, 1, 2, 3, 4, 0, 0, time.FixedZone("", 8*3600))
		if _, err := b.Audit.Export(ctx, b.admin, AuditFilter{Kind: ObjectUser, ID: b.admin.UserID, Since: since}, "csv", take); err != nil {
			t.Fatal(err)
		}
		list, err := b.Audit.List(ctx, b.admin, AuditFilter{Action: string(ActionExport), Limit: 1})
		if err != nil || len(list.Entries) != 1 {
			t.Fatal(list, err)
		}
		_, _, after, err := b.Audit.Get(ctx, b.admin, list.Entries[0].ID)
		if diff := cmp.Diff(Snapshot{"format": "csv", "kind": ObjectUser, "since": "2020-01-02T03:04:00+08:00", "target": json.Number(strconv.FormatInt(b.admin.UserID, 10))}, after); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestChangesAreWrittenDown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := userBundle(t, pool)
		ctx := t.Context()
		b.user.Address = "10.0.0.7"
		id, err := b.Jobs.Create(ctx, b.user, b.job(nil))
		if err != nil {
			t.Fatal(err)
		}
		before := len(b.story(t, AuditFilter{}))
		run := dbtest.InsertRun(t, pool, b.group, id, b.now, 200, 0, "")
		param := "p"
		for what, err := range map[string]error{
			"save without a change": b.Jobs.Update(ctx, b.user, id, b.job(nil)),
			"stop what is stopped":  b.Jobs.Stop(ctx, b.user, id),
			"refused":               b.Groups.Delete(ctx, b.user, b.group),
		} {
			if err != nil && what != "refused" {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if after := b.story(t, AuditFilter{}); len(after) != before {
			t.Errorf("nothing changed, and yet: %v", after[before:])
		}
		// What a form says where nothing was said is no change.
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET concurrency_policy = '' WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		if err := b.Jobs.Update(ctx, b.user, id, b.job(func(in *JobInput) { in.Concurrency = jobspec.ConcurrencyQueue })); err != nil {
			t.Fatal(err)
		}
		if after := b.story(t, AuditFilter{}); len(after) != before {
			t.Errorf("a default was named, and yet: %v", after[before:])
		}
		changed := b.job(func(in *JobInput) { in.ScheduleConf, in.TimeoutSeconds = "0 0 3 * * ?", 30 })
		for _, err := range []error{
			b.Jobs.Update(ctx, b.user, id, changed),
			b.Jobs.Start(ctx, b.user, id),
			b.Jobs.Stop(ctx, b.user, id),
			second(b.Jobs.Trigger(ctx, b.user, id, RunInput{Param: &param, Type: jobspec.TriggerManual})),
			b.Runs.Kill(ctx, b.user, run),
			b.Groups.Update(ctx, b.admin, b.group, GroupInput{AppName: "orders", Title: "New title"}),
			b.Jobs.Delete(ctx, b.user, id),
			b.Groups.Delete(ctx, b.admin, b.closed),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		user, made, err := b.Users.Create(ctx, b.admin, UserInput{Name: "carl", Rights: map[int64]auth.Rights{b.group: auth.RightRun}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Users.ResetPassword(ctx, b.admin, user, "a-new-lamp-otter"); err != nil {
			t.Fatal(err)
		}
		run2 := "#" + strconv.FormatInt(run, 10)
		want := []string{
			"ann update job close the day", "ann start job close the day", "ann stop job close the day", "ann run job close the day",
			"ann kill run " + run2, "root update group New title", "ann delete job close the day", "root delete group SECRET",
			"root create user carl", "root password user carl",
		}
		if diff := cmp.Diff(want, b.story(t, AuditFilter{})[before:]); diff != "" {
			t.Errorf("the log: %s", diff)
		}
		// What the update changed, and nothing else; from where; no password anywhere.
		list, err := b.Audit.List(ctx, b.admin, AuditFilter{Action: string(ActionUpdate), Kind: ObjectJob, ID: id, Limit: 10})
		if err != nil || len(list.Entries) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		e, old, now, err := b.Audit.Get(ctx, b.admin, list.Entries[0].ID)
		if err != nil || e.Address != "10.0.0.7" || e.UserID != b.user.UserID || e.MadeAt != b.now.UnixMilli() {
			t.Errorf("entry %+v, %v", e, err)
		}
		said := func(f Snapshot) string { return string(encode(f)) }
		if got := said(old) + said(now); got != `{"executor_timeout":0,"schedule_conf":"0 0 2 * * ?"}{"executor_timeout":30,"schedule_conf":"0 0 3 * * ?"}` {
			t.Errorf("the change: %s", got)
		}
		var all string
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_audit WHERE before_json LIKE '%argon%' OR after_json LIKE '%argon%' OR after_json LIKE ?", "%"+made+"%").Scan(&all); err != nil || all != "0" {
			t.Errorf("%s entries hold a password, %v", all, err)
		}
		if _, err := b.Audit.List(ctx, b.user, AuditFilter{Limit: 1}); kind(err) != "403" {
			t.Errorf("a normal user reads the log: %s", kind(err))
		}
		if _, _, _, err := b.Audit.Get(ctx, b.user, e.ID); kind(err) != "403" {
			t.Errorf("a normal user reads an entry: %s", kind(err))
		}
	})
}

func TestTheAuditLogIsPagedAndFiltered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		if _, err := pool.ExecContext(ctx, "DELETE FROM punctual_audit"); err != nil {
			t.Fatal(err)
		}
		start := b.now
		for i := range 25 {
			b.now = start.Add(time.Duration(i) * time.Hour)
			p, e := b.admin, Entry{Action: ActionRun, Kind: ObjectJob, ID: int64(i%2 + 1), Name: "job 100%"}
			if i%5 == 0 {
				p, e.Action, e.Name = b.user, ActionStart, "other"
			}
			if err := b.Audit.Record(ctx, pool, p, e); err != nil {
				t.Fatal(err)
			}
		}
		var seen []int64
		f := AuditFilter{Limit: 4}
		for {
			list, err := b.Audit.List(ctx, b.admin, f)
			if err != nil {
				t.Fatal(err)
			}
			if (list.Newer != 0) != (f.Before != 0) {
				t.Errorf("newer than %d: %v", f.Before, list.Newer)
			}
			for _, e := range list.Entries {
				seen = append(seen, e.ID)
			}
			if list.Older == 0 {
				break
			}
			f.Before = list.Older
		}
		if len(seen) != 25 {
			t.Fatalf("%d of 25 entries on the pages", len(seen))
		}
		up, err := b.Audit.List(ctx, b.admin, AuditFilter{After: seen[10], Limit: 4})
		if err != nil || len(up.Entries) != 4 || up.Entries[0].ID != seen[6] || up.Newer != seen[6] || up.Older != seen[9] {
			t.Errorf("the page above: %+v, %v", up, err)
		}
		for name, tt := range map[string]struct {
			f    AuditFilter
			want int
		}{
			"of a user":        {AuditFilter{User: "ann"}, 5},
			"of an action":     {AuditFilter{Action: "run"}, 20},
			"of a kind":        {AuditFilter{Kind: "job"}, 25},
			"of another kind":  {AuditFilter{Kind: "user"}, 0},
			"of an object":     {AuditFilter{Kind: "job", ID: 2}, 12},
			"of any object":    {AuditFilter{ID: 2}, 12},
			"by name":          {AuditFilter{Text: "100%"}, 20},
			"wildcards are no": {AuditFilter{Text: "1_0"}, 0},
			"since":            {AuditFilter{Since: start.Add(20 * time.Hour)}, 5},
			"until":            {AuditFilter{Until: start.Add(2 * time.Hour)}, 3},
			"of the future":    {AuditFilter{Since: start.Add(100 * time.Hour)}, 0},
		} {
			if got := b.story(t, tt.f); len(got) != tt.want {
				t.Errorf("%s: %d entries, want %d", name, len(got), tt.want)
			}
		}
		b.now = start.Add(24 * time.Hour)
		if err := b.Audit.Record(ctx, pool, auth.Principal{}, Entry{Action: ActionRegister, Kind: ObjectAddress, Name: "http://10.0.0.1:9999/"}); err != nil {
			t.Fatal(err)
		}
		if names, err := b.Audit.Users(ctx, b.admin); err != nil || strings.Join(names, " ") != "ann root" {
			t.Errorf("users %v, %v", names, err)
		}
		b.now = start.Add(b.Settings.auditLife() + 2*time.Hour)
		if err := b.Audit.Clean(ctx); err != nil {
			t.Fatal(err)
		}
		if got := b.story(t, AuditFilter{}); len(got) != 24 {
			t.Errorf("%d entries after two were too old", len(got))
		}
	})
}

func TestASearchInTheAuditLogThatTakesLongSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		start := b.now
		var ids []int64
		for i := range 40 {
			b.now = start.Add(time.Duration(i) * time.Hour)
			e := Entry{Action: ActionRun, Kind: ObjectJob, ID: 7, Name: "plain"}
			if i == 3 {
				e.Action, e.Kind = ActionRotate, ObjectToken
			}
			if err := b.Audit.Record(ctx, pool, b.admin, e); err != nil {
				t.Fatal(err)
			}
			last, err := b.Audit.queries.AuditIDs(ctx, pool)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, last.LastID)
		}
		b.Audit.search = search{quick: time.Nanosecond, deep: time.Minute, first: 10}
		f := AuditFilter{Action: string(ActionRotate), Kind: ObjectToken, Limit: 5}
		list, err := b.Audit.List(ctx, b.admin, f)
		if err != nil || len(list.Entries) != 0 || !list.Searched || list.Older != ids[30] || !list.Reached.Equal(start.Add(30*time.Hour)) {
			t.Fatalf("the first look: %+v, %v", list, err)
		}
		f.Before = list.Older
		if list, err = b.Audit.List(ctx, b.admin, f); err != nil || !list.Searched || list.Older != ids[20] || list.Newer != ids[30]-1 {
			t.Errorf("the next look: %+v, %v", list, err)
		}
		f.Deep = true
		if list, err = b.Audit.List(ctx, b.admin, f); err != nil || len(list.Entries) != 1 || list.Entries[0].ID != ids[3] || list.Searched || list.Older != 0 {
			t.Errorf("to the end: %+v, %v", list, err)
		}
		b.Audit.search.deep = time.Nanosecond
		list, err = b.Audit.List(ctx, b.admin, AuditFilter{Action: string(ActionRotate), Kind: ObjectToken, Look: time.Minute, Limit: 5})
		if err != nil || len(list.Entries) != 1 || list.Searched {
			t.Errorf("for a minute: %+v, %v", list, err)
		}
		list, err = b.Audit.List(ctx, b.admin, AuditFilter{Action: string(ActionRotate), After: ids[4], Limit: 5})
		if err != nil || list.Newer != ids[14] {
			t.Errorf("upwards: %+v, %v", list, err)
		}
		// A time in the middle is found without looking through what came after it.
		list, err = b.Audit.List(ctx, b.admin, AuditFilter{Since: start.Add(2 * time.Hour), Until: start.Add(4 * time.Hour), Limit: 5})
		if err != nil || len(list.Entries) != 3 || list.Searched || list.Older != 0 || list.Entries[0].ID != ids[4] {
			t.Errorf("a time: %+v, %v", list, err)
		}
		if list, err = b.Audit.List(ctx, b.admin, AuditFilter{Text: "plain", Limit: 5}); err != nil || len(list.Entries) != 5 || list.Searched || list.Older != list.Entries[4].ID {
			t.Errorf("a full page: %+v, %v", list, err)
		}
	})
}
