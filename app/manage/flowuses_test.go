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
		uses := func(id int64) FlowUses {
			t.Helper()
			got, err := b.Jobs.FlowsUsing(ctx, b.user, b.read(t, id))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Flows {
				got.Flows[i] = Child{ID: got.Flows[i].ID}
			}
			return got
		}
		if diff := cmp.Diff(FlowUses{Flows: []Child{{ID: byNumber}, {ID: byName}}, Hidden: 1}, uses(job)); diff != "" {
			t.Errorf("the flows of a job (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(FlowUses{Flows: []Child{{ID: nested}}}, uses(byNumber)); diff != "" {
			t.Errorf("the flows of a flow (-want +got):\n%s", diff)
		}
		if got := uses(nested); got.Any() {
			t.Errorf("a flow that nothing runs is used by %+v", got)
		}
	})
}
