package manage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// pastRun is a run as a timeline's test writes it: times are before or after the test's now.
type pastRun struct {
	job, group   int64
	address      string
	planned      time.Duration
	began, ended time.Duration // from planned on; ended 0: it goes on
}

func (b *bundle) insert(t *testing.T, runs ...pastRun) []int64 {
	t.Helper()
	var ids []int64
	for _, r := range runs {
		at := b.now.Add(r.planned)
		id, err := db.InsertRuns(t.Context(), b.pool, []db.NewRun{{JobGroup: r.group, JobID: r.job, Address: r.address, TriggerTime: b.pool.Wall(at), PlannedAt: at.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 200}})
		if err != nil {
			t.Fatal(err)
		}
		set := fmt.Sprintf("UPDATE xxl_job_log SET sent_at = %d", at.Add(r.began).UnixMilli())
		if r.ended > 0 {
			set += fmt.Sprintf(", finished_at = %d, handle_code = 200, outcome = 1", at.Add(r.ended).UnixMilli())
		}
		if _, err := b.pool.ExecContext(t.Context(), set+" WHERE id = ?", id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// drawn says of each row what is in it: "name: ids; fires".
func drawn(t Timeline) []string {
	rows := make([]string, 0, len(t.Rows))
	for _, r := range t.Rows {
		var ids []string
		for _, run := range r.Runs {
			ids = append(ids, fmt.Sprint(run.ID))
		}
		rows = append(rows, fmt.Sprintf("%s%s: %s; %d due", r.Job.JobDesc, r.Address, strings.Join(ids, " "), len(r.Fires.List)))
	}
	return rows
}

func TestATimelineShowsWhatWasAndWillBe(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		job := func(name string, group int64, change func(*JobInput)) int64 {
			return b.create(t, func(in *JobInput) {
				in.Name, in.Group = name, group
				if change != nil {
					change(in)
				}
			})
		}
		busy := job("busy", b.group, func(in *JobInput) { in.Tags = "nightly" })
		hidden := job("hidden", b.closed, nil)
		long := job("long", b.group, nil)
		soon := job("soon", b.group, func(in *JobInput) { in.ScheduleConf = "0 10/10 * * * ?" })
		job("never", b.group, nil)
		if err := b.Jobs.Start(t.Context(), b.admin, soon); err != nil {
			t.Fatal(err)
		}
		const minute = time.Minute
		ids := b.insert(t,
			pastRun{job: long, group: b.group, address: "http://a/", planned: -5 * time.Hour},                                 // 0: goes on since before
			pastRun{job: long, group: b.group, address: "http://a/", planned: -3 * time.Hour, ended: 130 * minute},            // 1: reaches into the hour
			pastRun{job: busy, group: b.group, address: "http://b/", planned: -2 * time.Hour, ended: minute},                  // 2: is over
			pastRun{job: busy, group: b.group, address: "http://b/", planned: -30 * minute, began: minute, ended: 2 * minute}, // 3
			pastRun{job: hidden, group: b.closed, address: "http://c/", planned: -20 * minute, ended: minute},                 // 4
			pastRun{job: busy, group: b.group, address: "http://a/", planned: -40 * minute, ended: minute},                    // 5: recorded late
			pastRun{job: 4711, group: b.group, address: "http://b/", planned: -10 * minute, ended: minute},                    // 6: of a job that was deleted
		)
		b.sweep(t)
		hour := TimelineFilter{From: b.now.Add(-time.Hour), Until: b.now.Add(15 * minute), Step: minute}
		with := func(change func(f *TimelineFilter)) TimelineFilter {
			f := hour
			change(&f)
			return f
		}
		row := func(name string, due int, runs ...int) string {
			var list []string
			for _, i := range runs {
				list = append(list, fmt.Sprint(ids[i]))
			}
			return fmt.Sprintf("%s: %s; %d due", name, strings.Join(list, " "), due)
		}
		for _, tt := range []struct {
			name string
			who  auth.Principal
			f    TimelineFilter
			want []string
		}{
			{"for an administrator", b.admin, hour, []string{row("busy", 0, 5, 3), row("hidden", 0, 4), row("soon", 2)}},
			{"for somebody of one group", b.user, hour, []string{row("busy", 0, 5, 3), row("soon", 2)}},
			{"for somebody of none", auth.NewPrincipal(3, "nobody", auth.RoleUser, ""), hour, []string{}},
			{"of a job that is at work since before", b.user, with(func(f *TimelineFilter) { f.Job = long }), []string{row("long", 0, 0, 1)}},
			{"of a tag", b.user, with(func(f *TimelineFilter) { f.Tag = "nightly" }), []string{row("busy", 0, 5, 3)}},
			{"of a name", b.user, with(func(f *TimelineFilter) { f.Text = "so" }), []string{row("soon", 2)}},
			{"of another group", b.user, with(func(f *TimelineFilter) { f.Group = b.closed }), []string{}},
			{"of a time that is over", b.admin, with(func(f *TimelineFilter) { f.Until = b.now.Add(-15 * minute) }), []string{row("busy", 0, 5, 3), row("hidden", 0, 4)}},
			{"of a time to come", b.admin, with(func(f *TimelineFilter) { f.From, f.Until = b.now.Add(10*minute), b.now.Add(time.Hour) }), []string{row("soon", 5)}},
			{"by executors", b.user, with(func(f *TimelineFilter) { f.Executors = true }), []string{row("http://a/", 0, 0, 5), row("http://b/", 0, 3, 6)}},
		} {
			got, err := b.Timelines.Look(t.Context(), tt.who, tt.f)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if diff := cmp.Diff(tt.want, drawn(got)); diff != "" || got.More {
				t.Errorf("%s: more %v %s", tt.name, got.More, diff)
			}
		}
		for key, f := range map[string]TimelineFilter{
			"until:problem.timeline.order": with(func(f *TimelineFilter) { f.Until = f.From }),
			"from:problem.timeline.long":   with(func(f *TimelineFilter) { f.Until = f.From.AddDate(0, 0, TimelineDays).Add(time.Second) }),
			"problem.job.gone":             with(func(f *TimelineFilter) { f.Job = hidden }),
		} {
			if _, err := b.Timelines.Look(t.Context(), b.user, f); err == nil || !strings.Contains(problem.From(err).Error(), key) {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}

// TestATimelineSaysWhatItLeavesOut: of a job with too many runs the newest are drawn, of too many jobs a few, and a quarter of them are kept
// for what is to come.
func TestATimelineSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		var jobs []int64
		for i := range TimelineRows + 10 {
			jobs = append(jobs, b.create(t, func(in *JobInput) {
				in.Name, in.ScheduleConf = fmt.Sprintf("job %02d", i), "0/30 * * * * ?"
			}))
		}
		for _, id := range jobs[TimelineRows:] {
			if err := b.Jobs.Start(t.Context(), b.admin, id); err != nil {
				t.Fatal(err)
			}
		}
		var runs []db.NewRun
		for i := range timelineOfJob + 100 {
			at := b.now.Add(-time.Hour + time.Duration(i)*5*time.Second)
			job := jobs[0]
			if i >= timelineOfJob+100-TimelineRows {
				job = jobs[i-(timelineOfJob+100-TimelineRows)]
			}
			runs = append(runs, db.NewRun{JobGroup: b.group, JobID: job, TriggerTime: pool.Wall(at), PlannedAt: at.UnixMilli(), Type: jobspec.TriggerCron, Address: fmt.Sprintf("http://10.0.0.%02d/", i%30)})
		}
		if _, err := db.InsertRuns(t.Context(), pool, runs); err != nil {
			t.Fatal(err)
		}
		f := TimelineFilter{From: b.now.Add(-time.Hour), Until: b.now.Add(time.Hour), Step: time.Second}
		all, err := b.Timelines.Look(t.Context(), b.admin, f)
		if err != nil {
			t.Fatal(err)
		}
		due := 0
		for _, r := range all.Rows {
			if len(r.Fires.List) > 0 {
				due++
			}
		}
		if len(all.Rows) != TimelineRows || !all.More || due != TimelineRows/4 {
			t.Errorf("%d rows, more %v, %d of them due", len(all.Rows), all.More, due)
		}
		f.Job = jobs[0]
		one, err := b.Timelines.Look(t.Context(), b.admin, f)
		if err != nil || len(one.Rows) != 1 {
			t.Fatalf("%d rows, %v", len(one.Rows), err)
		}
		// It has 581 of the runs: one each five seconds, and the first of the last twenty.
		r := one.Rows[0]
		if want := b.now.Add(-time.Hour + 81*5*time.Second); len(r.Runs) != timelineOfJob || !r.Since.Equal(want) || r.Runs[0].PlannedAt != want.UnixMilli() {
			t.Errorf("%d runs since %v, want %v", len(r.Runs), r.Since, want)
		}
		f.Job = jobs[TimelineRows]
		if one, err = b.Timelines.Look(t.Context(), b.admin, f); err != nil || len(one.Rows) != 1 {
			t.Fatalf("%d rows, %v", len(one.Rows), err)
		}
		// Due twice a minute for an hour.
		if fires := one.Rows[0].Fires; len(fires.List) != 120 || !fires.Ends.IsZero() {
			t.Errorf("%d fires, the last followed before %v", len(fires.List), fires.Ends)
		}
		f.Until = b.now.Add(5 * time.Hour)
		if one, err = b.Timelines.Look(t.Context(), b.admin, f); err != nil || len(one.Rows) != 1 {
			t.Fatalf("%d rows, %v", len(one.Rows), err)
		}
		if fires := one.Rows[0].Fires; len(fires.List) != timelineFires || fires.Ends.IsZero() || !fires.Ends.After(fires.List[timelineFires-1].At) {
			t.Errorf("%d fires, the last followed before %v", len(fires.List), fires.Ends)
		}
		f.Job, f.Executors = 0, true
		of, err := b.Timelines.Look(t.Context(), b.user, f)
		if err != nil || len(of.Rows) != TimelineRows || !of.More || !slices.IsSortedFunc(of.Rows, func(a, b TimelineRow) int { return strings.Compare(a.Address, b.Address) }) {
			t.Errorf("%d addresses, more %v, %v", len(of.Rows), of.More, err)
		}
	})
}

// TestTheNewestRunsOfManyGroupsAreReadInParts: a timeline knows from when on it has all runs, also where each group is read for itself.
func TestTheNewestRunsOfManyGroupsAreReadInParts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		var runs []db.NewRun
		for i := range 1000 {
			at := b.now.Add(-time.Hour + time.Duration(i)*time.Second)
			group := b.group
			if i%4 == 0 {
				group = b.closed
			}
			runs = append(runs, db.NewRun{JobGroup: group, JobID: 1, TriggerTime: pool.Wall(at), PlannedAt: at.UnixMilli(), Type: jobspec.TriggerCron, Address: "http://a/", TriggerCode: 200})
		}
		if _, err := db.InsertRuns(t.Context(), pool, runs); err != nil {
			t.Fatal(err)
		}
		both := auth.NewPrincipal(2, "ann", auth.RoleUser, db.Text(fmt.Sprintf("%d,%d", b.group, b.closed)))
		f := TimelineFilter{From: b.now.Add(-time.Hour), Until: b.now.Add(time.Minute), Executors: true}
		// Of somebody who sees both groups the newest 300 of the 750 in the first are read, and all 250 of the second; else the newest 600.
		for _, tt := range []struct {
			who   auth.Principal
			runs  int
			since time.Time
		}{{both, 550, b.now.Add(-time.Hour + 601*time.Second)}, {b.user, 600, b.now.Add(-time.Hour + 201*time.Second)}} {
			got, err := b.Timelines.Look(t.Context(), tt.who, f)
			if err != nil || len(got.Rows) != 1 {
				t.Fatalf("%d rows, %v", len(got.Rows), err)
			}
			if r := got.Rows[0]; len(r.Runs) != tt.runs || !r.Since.Equal(tt.since) {
				t.Errorf("%d runs since %v, want %d since %v", len(r.Runs), r.Since, tt.runs, tt.since)
			}
		}
	})
}
