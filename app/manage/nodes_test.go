package manage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/cluster"
)

func TestTheCluster(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		ctx, q := t.Context(), db.New()
		var ids []int64
		for i, name := range []string{"gone", "silent", "self", "other", "leaving", "older", "killed"} {
			id, err := q.InsertNode(ctx, pool, db.InsertNodeParams{Name: name, Address: "http://" + name, Version: "1", StartedAt: 1000, BeatAt: 2000, LowLogID: 7})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			// The older one is of a release that told no figures.
			if figures := []string{`{"sent":9}`, `{"sent":1.5}`, `{"sent":7}`, `{"sent":2.5,"late_p99":3000000}`, `{"draining":true}`, "", `{"draining":true}`}[i]; figures != "" {
				if _, err := q.BeatNode(ctx, pool, db.BeatNodeParams{ID: id, BeatAt: 2000, LowLogID: 7, LoadFigures: figures}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := q.LeaveNode(ctx, pool, ids[0]); err != nil {
			t.Fatal(err)
		}
		b.engine.load = scheduler.Load{Node: ids[2], Alive: []int64{ids[2], ids[3], ids[5]}, Living: []int64{ids[2], ids[3], ids[4], ids[5]}, Figures: scheduler.Figures{Planned: 3}}
		got, err := b.Nodes.Cluster(ctx, b.admin)
		if err != nil {
			t.Fatal(err)
		}
		node := func(i int, name string, s NodeState, load *scheduler.Figures) Node {
			n := Node{ID: ids[i], Name: name, Address: "http://" + name, Version: "1", Started: time.UnixMilli(1000), Beat: time.UnixMilli(2000), State: s, Self: i == 2}
			if n.HasLoad = load != nil; n.HasLoad {
				n.Load = *load
			}
			return n
		}
		want := Cluster{Load: b.engine.load, Nodes: []Node{
			node(2, "self", NodeLive, &b.engine.load.Figures), node(3, "other", NodeLive, &scheduler.Figures{Sent: 2.5, Late: 3 * time.Millisecond}),
			node(5, "older", NodeLive, nil), node(4, "leaving", NodeDraining, &scheduler.Figures{Told: cluster.Told{Draining: true}}),
			node(1, "silent", NodeSilent, &scheduler.Figures{Sent: 1.5}),
			// Killed while it was stopping: what it said last is not how it stands.
			node(6, "killed", NodeSilent, &scheduler.Figures{Told: cluster.Told{Draining: true}}), node(0, "gone", NodeGone, nil),
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if _, err := b.Nodes.Cluster(ctx, b.user); kind(err) != "403" {
			t.Errorf("a normal user sees the cluster: %s", kind(err))
		}
	})
}
