package manage

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/account"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// accountWords is a report in words: the counts that are not 0, then the stretches.
func accountWords(r *account.Report, zone *time.Location) string {
	var b strings.Builder
	for _, c := range account.Classes() {
		if n := r.Counts[c]; n > 0 {
			fmt.Fprintf(&b, "%s %d\n", c, n)
		}
	}
	clock := func(ms int64) string { return time.UnixMilli(ms).In(zone).Format("02T15:04:05") }
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "%s %s-%s %d", e.Class, clock(e.From), clock(e.To), e.Fires)
		if say := account.Say(e.Why, zone); say != "" {
			b.WriteString(" " + say)
		}
		b.WriteString("\n")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note %s %s\n", n.Kind, clock(n.At))
	}
	return strings.TrimSpace(b.String())
}

// accountBundle is a job that is due every hour at the full hour of a day, with its runs on record as far as record is told to.
type accountBundle struct {
	*bundle
	t   *testing.T
	job int64
	day time.Time
}

func setupAccount(t *testing.T, pool *db.Pool, change func(*JobInput)) *accountBundle {
	b := &accountBundle{bundle: setup(t, pool, nil), t: t, day: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)}
	b.now = b.day.Add(30 * time.Minute)
	b.job = b.create(t, func(in *JobInput) {
		in.ScheduleConf, in.Zone = "0 0 * * * ?", "UTC"
		if change != nil {
			change(in)
		}
	})
	b.must(b.Jobs.Start(t.Context(), b.admin, b.job))
	return b
}

func (b *accountBundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *accountBundle) exec(query string, args ...any) {
	b.t.Helper()
	_, err := b.pool.ExecContext(b.t.Context(), query, args...)
	b.must(err)
}

// at goes to a time of the day, as an engine that works all the time would have: everything due by then is claimed and sent.
func (b *accountBundle) at(clock string) {
	b.t.Helper()
	to := b.clock(clock)
	for {
		j := b.read(b.t, b.job)
		next := time.UnixMilli(j.TriggerNextTime)
		if j.TriggerStatus == 0 || next.After(to) {
			break
		}
		s, err := b.Jobs.scheduleOf(j.Spec())
		b.must(err)
		following, err := s.Next(next)
		b.must(err)
		n, err := db.AdvanceJobs(b.t.Context(), b.pool, []db.Advance{{ID: b.job, OldNext: j.TriggerNextTime, Last: j.TriggerNextTime, Next: following.UnixMilli()}})
		if err != nil || n != 1 {
			b.t.Fatal(n, err)
		}
		b.sent(next, next)
	}
	b.now = to
}

func (b *accountBundle) sent(planned, at time.Time) int64 {
	b.t.Helper()
	id, err := db.InsertRuns(b.t.Context(), b.pool, []db.NewRun{{
		JobGroup: b.group, JobID: b.job, TriggerTime: b.pool.Wall(planned), PlannedAt: planned.UnixMilli(), Type: jobspec.TriggerCron, TriggerCode: 200,
	}})
	b.must(err)
	b.exec("UPDATE xxl_job_log SET sent_at = ?, outcome = 1 WHERE id = ?", at.UnixMilli(), id)
	return id
}

func (b *accountBundle) clock(clock string) time.Time {
	b.t.Helper()
	at, err := time.Parse("15:04:05", clock)
	b.must(err)
	return b.day.Add(at.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)))
}

// keepTo lets the job keep to a calendar of the installation with these working days, from now on.
func (b *accountBundle) keepTo(days ...string) {
	b.t.Helper()
	q, err := db.New().NextCalendarRevision(b.t.Context(), b.pool)
	b.must(err)
	b.must(db.New().SetCalendar(b.t.Context(), b.pool, db.SetCalendarParams{
		Name: "plant", Body: fmt.Sprintf(`{"name":"plant","week":["%s"],"days":[]}`, strings.Join(days, `","`)), Revision: q, UpdatedAt: b.now.UnixMilli(),
	}))
	b.must(b.pool.Calendars().Refresh(b.t.Context()))
	if b.read(b.t, b.job).Calendar == "" {
		b.must(b.Jobs.Update(b.t.Context(), b.admin, b.job, b.Service.Jobs.inputFor(b, func(in *JobInput) { in.Calendar, in.CalendarRule = "plant", jobspec.CalendarWorkdays })))
	}
}

// want holds the account of the whole day against the words.
func (b *accountBundle) want(lines ...string) {
	b.t.Helper()
	r, err := b.Accounts.Account(b.t.Context(), b.admin, AccountRequest{From: b.day, To: b.day.AddDate(0, 0, 1), Job: b.job})
	b.must(err)
	if diff := cmp.Diff(strings.Join(lines, "\n"), accountWords(r, time.UTC)); diff != "" {
		b.t.Errorf("account (-want +got):\n%s", diff)
	}
}

func TestTheAccountOfADay(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		live func(b *accountBundle)
		want []string
	}{
		{"all on time", func(b *accountBundle) { b.at("05:30:00") }, []string{"ontime 5"}},
		{"what is deleted by hand is unaccounted for", func(b *accountBundle) {
			b.at("05:30:00")
			b.exec("DELETE FROM xxl_job_log WHERE planned_at IN (?, ?)", b.clock("02:00:00").UnixMilli(), b.clock("03:00:00").UnixMilli())
		}, []string{"ontime 3", "missing 2", "missing 05T02:00:00-05T03:00:00 2"}},
		{"what is there twice is doubled", func(b *accountBundle) {
			b.at("02:30:00")
			b.sent(b.clock("01:00:00"), b.clock("01:00:00"))
		}, []string{"ontime 1", "doubled 1", "doubled 05T01:00:00-05T01:00:00 1 also run 3"}},
		{"nobody has come to it", func(b *accountBundle) { b.at("02:30:00"); b.now = b.clock("04:30:00") },
			[]string{"ontime 2", "pending 2", "pending 05T03:00:00-05T04:00:00 2 no admin has come to it yet"}},
		{"late", func(b *accountBundle) {
			b.at("01:30:00")
			b.exec("UPDATE xxl_job_log SET sent_at = sent_at + 2500, events = ?", `["late",0,"2500","claim"]`+"\n")
		}, []string{"late 1", "late 05T01:00:00-05T01:00:00 1 late by 2.5s: claim"}},
		{"an edit in the middle", func(b *accountBundle) {
			b.at("02:30:00")
			b.must(b.Jobs.Update(t.Context(), b.admin, b.job, b.Service.Jobs.inputFor(b, func(in *JobInput) { in.ScheduleConf = "0 0/30 * * * ?" })))
			b.at("04:10:00")
		}, []string{"ontime 5"}},
		{"stopped and started", func(b *accountBundle) {
			b.at("02:30:00")
			b.must(b.Jobs.Stop(t.Context(), b.admin, b.job))
			b.at("05:30:00")
			b.must(b.Jobs.Start(t.Context(), b.admin, b.job))
			b.at("07:30:00")
		}, []string{"ontime 4"}},
		{"what was due at a stop and not decided is said", func(b *accountBundle) {
			b.at("02:30:00")
			b.now = b.clock("04:30:00")
			b.must(b.Jobs.Stop(t.Context(), b.admin, b.job))
		}, []string{"ontime 2", "skipped 2", "skipped 05T03:00:00-05T04:00:00 2 the job was stopped at 2026-03-05 04:30:00 +0000, before it was scheduled"}},
		{"another zone", func(b *accountBundle) {
			b.must(b.Jobs.Update(t.Context(), b.admin, b.job, b.Service.Jobs.inputFor(b, func(in *JobInput) { in.ScheduleConf = "0 0 2,3,11 * * ?" })))
			b.at("02:30:00")
			b.must(b.Jobs.Update(t.Context(), b.admin, b.job, b.Service.Jobs.inputFor(b, func(in *JobInput) { in.Zone = "Asia/Tokyo" })))
			b.at("05:00:00") // 11:00 in Tokyo is 02:00
		}, []string{"ontime 1"}},
		{"deleted with its runs", func(b *accountBundle) {
			b.at("02:30:00")
			b.must(b.Jobs.Delete(t.Context(), b.admin, b.job))
			b.now = b.clock("05:00:00")
		}, []string{"deleted 2", "deleted 05T01:00:00-05T02:00:00 2 the job was deleted at 2026-03-05 02:30:00 +0000, and its runs with it"}},
		{"cleared and not kept", func(b *accountBundle) {
			b.at("04:30:00")
			b.exec("INSERT INTO punctual_deletion (what, before_at) VALUES ('retention', ?)", b.clock("01:30:00").UnixMilli())
			b.exec("INSERT INTO punctual_deletion (what, job_id, before_at, made_by, made_at) VALUES ('clearing', ?, ?, 'ann', ?)", b.job, b.clock("02:30:00").UnixMilli(), b.clock("04:00:00").UnixMilli())
			b.exec("DELETE FROM xxl_job_log WHERE planned_at < ?", b.clock("03:30:00").UnixMilli())
		}, []string{"ontime 1", "deleted 2", "missing 1",
			"deleted 05T01:00:00-05T02:00:00 2 cleared by ann at 2026-03-05 04:00:00 +0000", "missing 05T03:00:00-05T03:00:00 1"}},
		{"somebody else's change that nobody has noticed", func(b *accountBundle) {
			b.at("02:30:00")
			b.exec("INSERT INTO punctual_setting (name, value, updated_at) VALUES ('schedules_seen', ?, 0)", fmt.Sprint(b.clock("02:15:00").UnixMilli()))
			b.exec("UPDATE xxl_job_info SET schedule_conf = '0 30 * * * ?', trigger_next_time = ?", b.clock("03:30:00").UnixMilli())
			b.at("05:00:00")
		}, []string{"ontime 4", "unknown 2",
			"unknown 05T03:00:00-05T03:00:00 1 somebody else changed the job between 2026-03-05 02:15:00 +0000 and 2026-03-05 05:00:00 +0000",
			"unknown 05T04:00:00-05T04:00:00 1 somebody else changed the job between 2026-03-05 02:15:00 +0000 and 2026-03-05 05:00:00 +0000"}},
		{"known from a moment on", func(b *accountBundle) {
			b.at("02:30:00")
			b.exec("DELETE FROM punctual_schedule")
			if _, err := b.Accounts.schedules.Notice(t.Context(), b.pool, 0, func(time.Duration) error { return nil }); err != nil {
				t.Fatal(err)
			}
			b.at("04:30:00")
		}, []string{"ontime 4", "note known 05T02:30:00"}},
		{"a FIX_DELAY job's fires are its runs", func(b *accountBundle) {
			b.at("01:30:00")
			b.must(b.Jobs.Update(t.Context(), b.admin, b.job, b.Service.Jobs.inputFor(b, func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleFixDelay, "600" })))
			b.sent(b.clock("01:40:00"), b.clock("01:40:00"))
			b.sent(b.clock("02:05:03"), b.clock("02:05:03"))
			b.now = b.clock("03:00:00")
			b.exec("UPDATE xxl_job_info SET trigger_next_time = ?", jobspec.Waiting.UnixMilli())
			b.exec("UPDATE xxl_job_log SET handle_code = 200")
		}, []string{"ontime 3", "note delay 05T01:30:00", "note stuck 05T03:00:00"}},
		{"a run for which nothing was planned", func(b *accountBundle) {
			b.at("01:30:00")
			b.sent(b.clock("01:10:00"), b.clock("01:10:00"))
		}, []string{"ontime 1", "unplanned 1", "unplanned 05T01:10:00-05T01:10:00 1"}},
		{"what a calendar said before it was changed is not known", func(b *accountBundle) {
			b.keepTo("thu")
			b.at("02:30:00") // a Thursday
			b.keepTo("fri", "thu")
			b.at("03:30:00")
			b.exec("DELETE FROM xxl_job_log WHERE planned_at IN (?, ?)", b.clock("02:00:00").UnixMilli(), b.clock("03:00:00").UnixMilli())
		}, []string{"ontime 1", "unknown 1", "missing 1",
			"unknown 05T02:00:00-05T02:00:00 1 its calendar was changed at 2026-03-05 02:30:00 +0000, and what it said before is not known", "missing 05T03:00:00-05T03:00:00 1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setupAccount(t, pool, nil)
				c.live(b)
				b.want(c.want...)
			})
		})
	}
}

// inputFor is the stored job as somebody saves it with a change.
func (s *Jobs) inputFor(b *accountBundle, change func(*JobInput)) JobInput {
	in := inputOf(b.read(b.t, b.job))
	change(&in)
	return in
}

func TestAnAccountIsGivenByRight(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupAccount(t, pool, nil)
		b.at("02:30:00")
		r := AccountRequest{From: b.day, To: b.now}
		stranger := auth.NewPrincipal(3, "eve", auth.RoleUser, db.Text(fmt.Sprint(b.closed)))
		report, err := b.Accounts.Account(t.Context(), stranger, r)
		if err != nil || report.Fires != 0 {
			t.Errorf("a stranger's account of everything has %d fires, %v", report.Fires, err)
		}
		if report, err = b.Accounts.Account(t.Context(), b.user, r); err != nil || report.Fires != 2 {
			t.Errorf("the user's account has %d fires, %v", report.Fires, err)
		}
		r.Job = b.job
		if _, err := b.Accounts.Account(t.Context(), stranger, r); err == nil {
			t.Error("a stranger is given the account of a job")
		}
		r.From = b.now
		if _, err := b.Accounts.Account(t.Context(), b.admin, r); err == nil {
			t.Error("an account of no time is given")
		}
	})
}

func TestManyFiresAreAccountedForInParts(t *testing.T) {
	t.Parallel()
	b := setupAccount(t, dbtest.New(t, db.SQLite), func(in *JobInput) { in.ScheduleType, in.ScheduleConf, in.Zone = jobspec.ScheduleFixRate, "1", "" })
	b.now = b.day.AddDate(0, 0, 3)
	b.exec("UPDATE xxl_job_info SET trigger_next_time = ?", b.day.AddDate(0, 0, 2).Add(30*time.Minute+time.Second).UnixMilli())
	b.day = b.day.Add(30 * time.Minute)
	r, err := b.Accounts.Account(t.Context(), b.admin, AccountRequest{From: b.day, To: b.day.AddDate(0, 0, 2)})
	b.must(err)
	const want = 2*24*3600 - 1
	if r.Fires != want || r.Counts[account.Missing] != want || len(r.Entries) != 1 {
		t.Errorf("of %d fires %d are missing in %d stretches, want %d in one", r.Fires, r.Counts[account.Missing], len(r.Entries), want)
	}
}

// obliging is an executor that takes everything.
type obliging struct{}

var fine = wire.Answer{Code: wire.CodeSuccess}

func (obliging) Beat(context.Context, wire.Target) (wire.Answer, error) { return fine, nil }
func (obliging) IdleBeat(context.Context, wire.Target, wire.IdleBeatRequest) (wire.Answer, error) {
	return fine, nil
}
func (obliging) Takes(wire.Target) bool { return false }
func (obliging) RunAll(_ context.Context, _ wire.Target, reqs []*wire.RunRequest) []wire.Told {
	return slices.Repeat([]wire.Told{{Answer: fine}}, len(reqs))
}
func (obliging) Kill(context.Context, wire.Target, wire.KillRequest) (wire.Answer, error) {
	return fine, nil
}
func (obliging) Log(context.Context, wire.Target, wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	return wire.LogResult{}, fine, nil
}

// TestAnEngineAccountsForItself runs a real engine on jobs of every second, stops it for a while, and runs it again.
func TestAnEngineAccountsForItself(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ahead := time.Duration(0) // of this machine's clock
		now := func() time.Time { return time.Now().Add(ahead) }
		b := setup(t, pool, func(c *Config) { c.Now = now })
		begin := func() (stop func()) {
			engine, err := scheduler.New(scheduler.Config{
				Pool: pool, Executors: obliging{}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Registerer: prometheus.NewRegistry(), JobZone: pool.Zone(),
				MisfireAfter: 500 * time.Millisecond, Clock: now,
			})
			if err == nil {
				err = engine.Start(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				ctx, cancel := context.WithTimeout(context.Background(), executortest.Patience) // what is claimed is sent first
				defer cancel()
				if err := engine.Stop(ctx); err != nil {
					t.Error(err)
				}
			}
		}
		stop := begin()
		var ids []int64
		for _, m := range jobspec.AllMisfires {
			id := b.create(t, func(in *JobInput) {
				in.ScheduleType, in.ScheduleConf, in.Misfire, in.Name = jobspec.ScheduleFixRate, "1", m, string(m)
				in.MisfireLast, in.MisfireWithin = 2, 2 // of those that have such a number
			})
			if err := b.Jobs.Start(t.Context(), b.admin, id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		sent := func(more int) {
			t.Helper()
			for _, id := range ids {
				want := -1
				executortest.Eventually(t, fmt.Sprintf("%d more runs of job %d", more, id), func() error {
					var n int
					err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = ? AND trigger_type = 'CRON' AND trigger_code = 200", id).Scan(&n)
					if want < 0 {
						want = n + more
					}
					if err == nil && n < want {
						err = fmt.Errorf("it has %d of %d", n, want)
					}
					return err
				})
			}
		}
		sent(3) // real fires take real time
		stop()
		ahead = 6 * time.Second // so that some have passed, more than the engine's horizon
		stop = begin()
		sent(1)
		until := now()
		stop()
		for i, id := range ids {
			// What is due later is left to another admin: on a busy machine from before the stop.
			var next int64
			if err := pool.QueryRowContext(t.Context(), "SELECT trigger_next_time FROM xxl_job_info WHERE id = ?", id).Scan(&next); err != nil {
				t.Fatal(err)
			}
			end := until
			if decided := time.UnixMilli(next); decided.Before(end) {
				end = decided
			}
			r, err := b.Accounts.Account(t.Context(), b.admin, AccountRequest{From: end.Add(-time.Hour), To: end, Job: id})
			if err != nil {
				t.Fatal(err)
			}
			skipped, stands, fired := r.Counts[account.Skipped], r.Counts[account.Stands], r.Counts[account.OnTime]+r.Counts[account.Late]
			right := false
			switch jobspec.AllMisfires[i] {
			case jobspec.MisfireDoNothing:
				right = skipped >= 2 && stands == 0
			case jobspec.MisfireFireOnceNow, jobspec.MisfireFireAll:
				right = skipped == 0 && stands >= 2
			case jobspec.MisfireFireLast:
				right = skipped > 0 && stands >= 2
			case jobspec.MisfireFireWithin:
				right = skipped > 0 && stands > 0
			}
			if r.Faulty() || !right || fired < 4 || fired+skipped+stands != r.Fires {
				t.Errorf("%s:\n%s", jobspec.AllMisfires[i], accountWords(r, pool.Zone()))
			}
		}
	})
}
