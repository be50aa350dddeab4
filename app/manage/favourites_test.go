package manage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhoseJobsAreTheirs are those that somebody has marked, for themselves alone, and those whose owner they are.
func TestWhoseJobsAreTheirs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		by := func(author string) int64 {
			return b.create(t, func(in *JobInput) { in.Author = author })
		}
		other, own, marked := by("bob"), by("ann"), by("anna")
		secret := b.create(t, func(in *JobInput) { in.Group, in.Author = b.closed, "ann" })
		mine := func(p auth.Principal) (ids []int64) {
			t.Helper()
			list, err := b.Jobs.List(ctx, p, JobFilter{Status: AnyStatus, Show: ShowMine, Limit: 50})
			if err != nil || list.Total != int64(len(list.Jobs)) {
				t.Fatalf("%+v %v", list, err)
			}
			for _, j := range list.Jobs {
				ids = append(ids, j.ID)
			}
			return ids
		}
		if diff := cmp.Diff([]int64{own}, mine(b.user)); diff != "" {
			t.Errorf("at first: %s", diff)
		}
		for range 2 { // twice is once
			if err := b.Jobs.SetFavourite(ctx, b.user, marked, true); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]int64{marked, own}, mine(b.user)); diff != "" {
			t.Errorf("marked: %s", diff)
		}
		if got := mine(b.admin); got != nil {
			t.Errorf("of somebody else: %v", got)
		}
		if got, err := b.Jobs.Favourites(ctx, b.user, []int64{other, own, marked}); err != nil || !cmp.Equal(map[int64]bool{marked: true}, got) {
			t.Errorf("among the jobs of a page: %v %v", got, err)
		}
		if err := b.Jobs.SetFavourite(ctx, b.user, secret, true); kind(err) != "404 problem.job.gone" {
			t.Errorf("a job of a group that they may not see: %v", err)
		}
		if err := b.Jobs.SetFavourite(ctx, b.user, marked, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{own}, mine(b.user)); diff != "" {
			t.Errorf("taken back: %s", diff)
		}
		// There is a bound, and jobs that are gone do not count in it.
		for id := range int64(maxFavourites) {
			if err := b.Jobs.queries.InsertFavourite(ctx, pool, db.InsertFavouriteParams{UserID: b.user.UserID, JobID: 1_000_000 + id}); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Jobs.SetFavourite(ctx, b.user, marked, true); err != nil {
			t.Errorf("beside marks of jobs that are gone: %v", err)
		}
		if rows, err := b.Jobs.queries.ListFavourites(ctx, pool, b.user.UserID); err != nil || len(rows) != 1 {
			t.Errorf("%d marks are left, %v", len(rows), err)
		}
	})
}

// TestForgettingFavouritesLocksNoJob: claims write the jobs all the time, and neither waits for the other.
func TestForgettingFavouritesLocksNoJob(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets writers in one after the other
	b := setup(t, pool, nil)
	ctx := t.Context()
	marked := b.create(t, func(*JobInput) {})
	if err := b.Jobs.SetFavourite(ctx, b.user, marked, true); err != nil {
		t.Fatal(err)
	}
	if err := b.Jobs.queries.InsertFavourite(ctx, pool, db.InsertFavouriteParams{UserID: b.user.UserID, JobID: marked + 1}); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_last_time = 1 WHERE id = ?", marked); err != nil {
		t.Fatal(err)
	}
	if err := b.Jobs.forgetFavourites(ctx, b.user.UserID); err != nil {
		t.Errorf("while a claim writes the job: %v", err)
	}
	if left, err := b.Jobs.queries.ListFavourites(ctx, pool, b.user.UserID); err != nil || !cmp.Equal([]int64{marked}, left) {
		t.Errorf("left are %v, %v", left, err)
	}
}
