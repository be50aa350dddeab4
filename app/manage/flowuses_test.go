package manage

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestAJobKnowsTheFlowsThatUseIt: by its number, and by its executor and description; those that somebody may not see are counted.
func TestAJobKnowsTheFlowsThatUseIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx := t.Context()
		job := b.create(t, func(in *JobInput) { in.Name = "close the day" })
		other := b.create(t, func(in *JobInput) { in.Name = "something else" })
		group, err := db.New().GetGroup(ctx, pool, b.group)
		if err != nil {
			t.Fatal(err)
		}
		named := func(name string) string {
			return fmt.Sprintf("steps: [{id: a, job: {app_name: %s, description: %q}}]", group.AppName, name)
		}
		byNumber := b.create(t, flowOf(fmt.Sprintf("steps: [{id: z, approve: {}}, {id: a, needs: z, job: %d}]", job)))
		byName := b.create(t, flowOf(named("close the day")))
		b.create(t, flowOf(named("something else")))
		b.create(t, flowOf(fmt.Sprintf("steps: [{id: a, job: %d, parameter: 'not %d'}]", other, job)))
		nested := b.create(t, flowOf(fmt.Sprintf("steps: [{id: a, flow: %d}]", byNumber)))
		b.create(t, func(in *JobInput) {
			flowOf(fmt.Sprintf("steps: [{id: a, job: %d}]", job))(in)
			in.Group = b.closed
		})
		uses := func(id int64) Uses {
			t.Helper()
			got, err := b.Jobs.FlowsUsing(ctx, b.user, b.read(t, id))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Jobs {
				got.Jobs[i] = Child{ID: got.Jobs[i].ID}
			}
			return got
		}
		if diff := cmp.Diff(Uses{Jobs: []Child{{ID: byNumber}, {ID: byName}}, Hidden: 1}, uses(job)); diff != "" {
			t.Errorf("the flows of a job (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Uses{Jobs: []Child{{ID: nested}}}, uses(byNumber)); diff != "" {
			t.Errorf("the flows of a flow (-want +got):\n%s", diff)
		}
		// Those that are deleted together say what of it all the others miss.
		b.create(t, func(in *JobInput) { in.Group, in.ChildJobIDs = b.closed, fmt.Sprint(job) })
		parent := b.create(t, func(in *JobInput) { in.ChildJobIDs = fmt.Sprint(job) })
		items, err := b.Jobs.Preview(ctx, b.user, Bulk{Do: BulkDelete, IDs: []int64{job, byNumber, nested, 999}})
		if err != nil || len(items) != 4 {
			t.Fatalf("%+v, %v", items, err)
		}
		for i, want := range []UsedBy{
			{Parents: Uses{Jobs: []Child{{ID: parent}}, Hidden: 1}, Flows: Uses{Jobs: []Child{{ID: byName}}, Hidden: 1}}, {}, {}, {},
		} {
			for _, all := range [][]Child{items[i].Used.Parents.Jobs, items[i].Used.Flows.Jobs} {
				for k := range all {
					all[k] = Child{ID: all[k].ID}
				}
			}
			if diff := cmp.Diff(want, items[i].Used); diff != "" {
				t.Errorf("job %d is used by (-want +got):\n%s", items[i].ID, diff)
			}
		}
		if one, err := b.Jobs.UsedBy(ctx, b.user, b.read(t, job)); err != nil || len(one.Parents.Jobs) != 1 || one.Parents.Hidden != 1 || len(one.Flows.Jobs) != 2 {
			t.Errorf("alone: %+v, %v", one, err)
		}
		if got := uses(nested); got.Any() {
			t.Errorf("a flow that nothing runs is used by %+v", got)
		}
	})
}
