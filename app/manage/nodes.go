package manage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
)

// Nodes are the admins of the cluster. Only administrators see them: the addresses of the machines are nobody else's concern.
type Nodes struct {
	cfg     Config
	queries *db.Queries
}

// ConditionText says in words what is not as it should be with an admin.
func ConditionText(p *locales.Printer, c scheduler.Condition) string {
	return p.T("nodes.condition."+string(c.Key), "Late", p.Duration(c.Late.Abs().Round(100*time.Millisecond)),
		"Why", string(c.Why), "Count", c.Count) // the number itself, by which the catalogue chooses the words
}

// NodeState is how an admin stands, as the one that was asked sees it.
type NodeState string

const (
	NodeLive     NodeState = "live"     // it shares the work
	NodeDraining NodeState = "draining" // it finishes what it has, before it leaves
	NodeSilent   NodeState = "silent"   // its row says that it lives, but it has not renewed its lease
	NodeGone     NodeState = "gone"     // it left or was declared gone; what it had is taken over
)

// Node is one admin.
type Node struct {
	ID      int64
	Name    string
	Address string
	Version string
	Started time.Time
	Beat    time.Time // the last renewal of its lease, by its own clock
	State   NodeState
	Self    bool // the one that answers
	Load    scheduler.Figures
	HasLoad bool // it is alive and has told its figures
}

// Cluster is every admin that is known, the living first, with what each has in hand.
type Cluster struct {
	Nodes []Node
	Load  scheduler.Load
}

// Cluster tells about the admins. Those that are gone stay listed for ten minutes.
func (s *Nodes) Cluster(ctx context.Context, p auth.Principal) (Cluster, error) {
	if err := requireAdmin(p); err != nil {
		return Cluster{}, err
	}
	rows, err := s.queries.ListNodes(ctx, s.cfg.Pool)
	if err != nil {
		return Cluster{}, fmt.Errorf("list nodes: %w", db.Error(err))
	}
	c := Cluster{Load: s.cfg.Engine.Load()}
	for _, r := range rows {
		n := Node{
			ID: r.ID, Name: r.Name, Address: r.Address, Version: r.Version, Started: time.UnixMilli(r.StartedAt), Beat: time.UnixMilli(r.BeatAt),
			Self: r.ID == c.Load.Node, State: NodeGone,
		}
		if r.State == 1 {
			n.Load, n.HasLoad = scheduler.ParseFigures(r.LoadFigures)
			if n.Self { // as fresh as can be
				n.Load, n.HasLoad = c.Load.Figures, true
			}
			switch {
			case !slices.Contains(c.Load.Living, r.ID): // what it said last, as that it was stopping, is not how it stands
				n.State = NodeSilent
			case n.Load.Draining:
				n.State = NodeDraining
			default:
				n.State = NodeLive
			}
		}
		c.Nodes = append(c.Nodes, n)
	}
	order := []NodeState{NodeLive, NodeDraining, NodeSilent, NodeGone}
	slices.SortStableFunc(c.Nodes, func(a, b Node) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	return c, nil
}
