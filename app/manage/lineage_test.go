package manage

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhoStartsWhom: by children and as a flow, with the neighbours in other groups; what somebody may not see is counted, and a job that is
// gone, or that nothing starts and that starts nothing, is not there.
func TestWhoStartsWhom(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		last := b.create(t, func(in *JobInput) { in.Name = "last" })
		middle := b.create(t, func(in *JobInput) { in.Name = "middle" })
		starts := func(id int64, list string) {
			t.Helper()
			if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET child_jobid = ? WHERE id = ?", list, id); err != nil {
				t.Fatal(err)
			}
		}
		starts(middle, fmt.Sprintf("%d,999999", last))
		b.create(t, func(in *JobInput) { in.Name = "alone" })
		group, err := db.New().GetGroup(ctx, pool, b.group)
		if err != nil {
			t.Fatal(err)
		}
		top := b.create(t, func(in *JobInput) {
			flowOf(fmt.Sprintf("steps: [{id: a, job: {app_name: %s, description: middle}}, {id: b, needs: a, wait: {seconds: 1}}, {id: c, needs: b, job: %d}]", group.AppName, last))(in)
			in.Name = "top"
		})
		starts(b.create(t, func(in *JobInput) { in.Group = b.closed }), fmt.Sprint(middle))
		found, err := b.Jobs.Lineage(ctx, b.user, b.group)
		if err != nil {
			t.Fatal(err)
		}
		want := Lineage{Hidden: 1, Jobs: []LineageJob{
			{ID: last, Group: b.group, Name: "last", StartedBy: []int64{middle, top}},
			{ID: middle, Group: b.group, Name: "middle", StartedBy: []int64{top}},
			{ID: top, Group: b.group, Name: "top", Flow: true},
		}}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		_, err = b.Jobs.Lineage(ctx, b.user, b.closed)
		if refused, is := errors.AsType[*problem.Error](err); !is || refused.Kind != problem.NotFound {
			t.Errorf("of a group that one may not see: %v", err)
		}
	})
}

// TestAPictureOfWhoStartsWhomIsBounded: small families are left out behind large ones, and of one that is too large itself so many are shown.
func TestAPictureOfWhoStartsWhomIsBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		insert := func(n, first int) {
			t.Helper()
			for i := range n {
				children := ""
				if i > 0 {
					children = fmt.Sprint(first + i - 1)
				}
				if _, err := pool.ExecContext(t.Context(), `INSERT INTO xxl_job_info (id, job_group, job_desc, author, schedule_type, misfire_strategy, executor_route_strategy,
 executor_block_strategy, glue_type, child_jobid, trigger_status, trigger_next_time) VALUES (?,?,'one','ada','NONE','DO_NOTHING','ROUND','SERIAL_EXECUTION','BEAN',?,0,0)`,
					first+i, b.group, children); err != nil {
					t.Fatal(err)
				}
			}
		}
		insert(2, 1000)
		insert(MaxLineage+5, 2000)
		found, err := b.Jobs.Lineage(t.Context(), b.user, b.group)
		if err != nil || len(found.Jobs) != MaxLineage || found.Rest != 5+2 {
			t.Errorf("%d jobs and %d more, %v", len(found.Jobs), found.Rest, err)
		}
	})
}
