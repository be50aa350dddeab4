package manage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

func TestTheCluster(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx, q := t.Context(), db.New()
		var ids []int64
		for _, name := range []string{"gone", "silent", "self", "other"} {
			id, err := q.InsertNode(ctx, pool, db.InsertNodeParams{Name: name, Address: "http://" + name, Version: "1", StartedAt: 1000, BeatAt: 2000, LowLogID: 7})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if _, err := q.RetireNode(ctx, pool, db.RetireNodeParams{ID: ids[0], Beat: 1}); err != nil {
			t.Fatal(err)
		}
		b.engine.load = scheduler.Load{Node: ids[2], Alive: []int64{ids[2], ids[3]}, Planned: 3}
		got, err := b.Nodes.Cluster(ctx, b.admin)
		if err != nil {
			t.Fatal(err)
		}
		node := func(i int, name string, s NodeState) Node {
			return Node{ID: ids[i], Name: name, Address: "http://" + name, Version: "1", Started: time.UnixMilli(1000), Beat: time.UnixMilli(2000), State: s, LowLogID: 7, Self: i == 2}
		}
		want := Cluster{Load: b.engine.load, Nodes: []Node{
			node(2, "self", NodeLive), node(3, "other", NodeLive), node(1, "silent", NodeSilent), node(0, "gone", NodeGone),
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if _, err := b.Nodes.Cluster(ctx, b.user); kind(err) != "403" {
			t.Errorf("a normal user sees the cluster: %s", kind(err))
		}
	})
}
