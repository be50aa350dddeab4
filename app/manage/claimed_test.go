package manage

import (
	"strconv"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestAChangedScheduleMakesNothingOfWhatIsClaimed: fires are claimed some seconds ahead, and one that has its run already must not come
// again because somebody saves the job, or stops and starts it. What lies further ahead was claimed by a clock that was wrong.
func TestAChangedScheduleMakesNothingOfWhatIsClaimed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		for ahead, want := range map[time.Duration]time.Duration{10 * time.Second: 10 * time.Second, claimedAhead + time.Second: time.Second} {
			id := b.create(t, nil)
			next := func(when string) {
				t.Helper()
				if got := time.UnixMilli(b.read(t, id).TriggerNextTime).Sub(b.now); got != want {
					t.Errorf("claimed for the next %v, %s: due in %v, want %v", ahead, when, got, want)
				}
			}
			if err := b.Jobs.Start(t.Context(), b.admin, id); err != nil {
				t.Fatal(err)
			}
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET claimed_until = ? WHERE id = ?", b.now.Add(ahead).UnixMilli(), id); err != nil {
				t.Fatal(err)
			}
			everySecond := b.job(func(in *JobInput) { in.ScheduleType, in.ScheduleConf = jobspec.ScheduleCron, "* * * * * ?" })
			if err := b.Jobs.Update(t.Context(), b.admin, id, everySecond); err != nil {
				t.Fatal(err)
			}
			next("saved")
			if err := b.Jobs.Stop(t.Context(), b.admin, id); err != nil {
				t.Fatal(err)
			}
			if err := b.Jobs.Start(t.Context(), b.admin, id); err != nil {
				t.Fatal(err)
			}
			next("stopped and started")
		}
	})
}

// TestATokenStaysWhileAGroupOfItsNameDoes: XXL-JOB lets two groups share an app name. It goes with the last that is deleted, or renamed.
func TestATokenStaysWhileAGroupOfItsNameDoes(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		tokens := auth.NewTokens(auth.TokensConfig{Pool: pool})
		if err := tokens.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := setup(t, pool, func(c *Config) { c.Tokens = tokens })
		remove := func(id int64) error { return b.Groups.Delete(t.Context(), b.admin, id) }
		rename := func(id int64) error {
			return b.Groups.Update(t.Context(), b.admin, id, GroupInput{AppName: "other" + strconv.FormatInt(id, 10), Title: "another"})
		}
		first := b.group
		for _, do := range []func(id int64) error{remove, rename} {
			if err := b.Tokens.Rotate(t.Context(), b.admin, first, 0); err != nil {
				t.Fatal(err)
			}
			second, err := db.New().InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "orders", Title: "the same"})
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct {
				group int64
				own   bool
			}{{second, true}, {first, false}} {
				if err := do(step.group); err != nil {
					t.Fatal(err)
				}
				if s := tokens.State("orders"); s.Own != step.own {
					t.Errorf("group %d is deleted or renamed; the name has a token of its own: %v, want %v", step.group, s.Own, step.own)
				}
			}
			if first, err = db.New().InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "orders", Title: "anew"}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
