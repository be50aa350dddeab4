package manage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestJobsDoNotStartThemselves(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		child := func(id int64) func(*JobInput) {
			return func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(id, 10) }
		}
		last := b.create(t, nil)
		middle := b.create(t, child(last))
		first := b.create(t, child(middle))
		for _, tt := range []struct {
			name      string
			job, kids int64
			want      string
		}{
			{"a grandchild starts its grandparent", last, first, "422 children:job.error.child_cycle"},
			{"a child starts its parent", last, middle, "422 children:job.error.child_cycle"},
			{"two ways to the same child", first, last, "ok"},
		} {
			if got := kind(b.Jobs.Update(t.Context(), b.user, tt.job, b.job(child(tt.kids)))); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if err := b.Jobs.Start(t.Context(), b.user, first); err != nil {
			t.Fatal(err)
		}
		at := time.UnixMilli(b.read(t, first).TriggerNextTime)
		for except, want := range map[int64]int64{0: 1, first: 0} {
			if n, err := b.Jobs.DueAt(t.Context(), at, except); err != nil || n != want {
				t.Errorf("%d jobs besides %d, %v", n, except, err)
			}
		}
	})
}

// TestAJobStartsNoFlowThatRunsIt: the flow could not be saved with such a child of its step, so the step's job is not either.
func TestAJobStartsNoFlowThatRunsIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		child := func(id int64) func(*JobInput) {
			return func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(id, 10) }
		}
		job := b.create(t, nil)
		inner := b.create(t, flowOf(fmt.Sprintf("steps: [{id: a, job: %d}]", job)))
		outer := b.create(t, flowOf(fmt.Sprintf("steps: [{id: a, flow: %d}]", inner)))
		between := b.create(t, child(outer))
		for _, id := range []int64{inner, outer, between} {
			if got := kind(b.Jobs.Update(t.Context(), b.user, job, b.job(child(id)))); got != "422 children:job.error.child_cycle" {
				t.Errorf("a child that runs it: %s", got)
			}
		}
		if got := kind(b.Jobs.Update(t.Context(), b.user, between, b.job(child(inner)))); got != "ok" {
			t.Errorf("a child that does not: %s", got)
		}
		hits, err := b.Jobs.FindChildren(t.Context(), b.user, job, strconv.FormatInt(outer, 10), nil)
		if err != nil || len(hits) == 0 || hits[0].Ring == "" {
			t.Errorf("the picker of children does not say so: %+v, %v", hits, err)
		}
	})
}

func TestChildrenAreFound(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		named := func(name, handler string, group int64, children ...int64) int64 {
			return b.create(t, func(in *JobInput) {
				in.Name, in.Handler, in.Group = name, handler, group
				for _, id := range children {
					in.ChildJobIDs += strconv.FormatInt(id, 10) + ","
				}
			})
		}
		job := named("sum up", "sumUp", b.group)
		parent := named("close the day", "closeDay", b.group, job)
		grandparent := named("end of month", "endOfMonth", b.closed, parent)
		report := named("report", "sendReport", b.group)
		viewer := auth.NewPrincipal(3, "vi", auth.RoleUser, "").Grant(b.group, auth.RightRun).Grant(b.closed, auth.RightView)
		id := func(n int64) string { return strconv.FormatInt(n, 10) }
		for _, tt := range []struct {
			name   string
			p      auth.Principal
			text   string
			except []int64
			want   string
		}{
			{"by a part of the name", b.user, "repo", nil, id(report) + " report"},
			{"by its handler", b.user, "sendrep", nil, id(report) + " report"},
			{"by its id", b.user, id(report), nil, id(report) + " report"},
			{"not twice", b.user, "report", []int64{report}, ""},
			{"nothing of others", b.user, "end of", nil, ""},
			{"nothing that may only be seen", viewer, "end of", nil, ""},
			{"nothing for who may run none", auth.NewPrincipal(4, "wanda", auth.RoleUser, "").Grant(b.closed, auth.RightView), "end of", nil, ""},
			{"not itself, and what leads back to it says how", b.admin, "", nil,
				id(report) + " report; " + id(grandparent) + " end of month ring end of month (#" + id(grandparent) + ") → close the day (#" + id(parent) + "); " + id(parent) + " close the day ring close the day (#" + id(parent) + ")"},
		} {
			hits, err := b.Jobs.FindChildren(t.Context(), tt.p, job, tt.text, tt.except)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hits {
				line := id(h.ID) + " " + h.Name
				if h.Ring != "" {
					line += " ring " + h.Ring
				}
				got = append(got, line)
			}
			if text := strings.Join(got, "; "); text != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
			}
		}
		children, ok, err := b.Jobs.Children(t.Context(), b.user, id(report)+", "+id(grandparent)+",4711")
		if err != nil || !ok || len(children) != 3 || children[0].Name != "report" || children[1].Name != "" || children[2].ID != 4711 {
			t.Errorf("%+v, %v, %v", children, ok, err)
		}
		children, ok, err = b.Jobs.Children(t.Context(), b.user, "x, "+id(report)+",99999999999")
		if err != nil || ok || len(children) != 1 || children[0].Name != "report" {
			t.Errorf("of a list with what is no id, those that are started: %+v, %v, %v", children, ok, err)
		}
		if _, ok, _ := b.Jobs.Children(t.Context(), b.user, "1,x"); ok {
			t.Error("a list with a word in it is no list of children")
		}
	})
}

// TestARingNamesNoJobsOfOthers: whoever may not see a job on the way reads its number alone.
func TestARingNamesNoJobsOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		named := func(name string, group, child int64) int64 {
			return b.create(t, func(in *JobInput) {
				in.Name, in.Group, in.ChildJobIDs = name, group, strconv.FormatInt(child, 10)
			})
		}
		job := b.create(t, nil)
		hidden := named("pay the salaries", b.closed, job)
		parent := named("sum up", b.group, hidden)
		for _, tt := range []struct {
			p    auth.Principal
			want string
		}{{b.user, fmt.Sprintf("#%d", hidden)}, {b.admin, fmt.Sprintf("pay the salaries (#%d)", hidden)}} {
			want := fmt.Sprintf("close the day (#%d) → sum up (#%d) → %s → close the day (#%d)", job, parent, tt.want, job)
			refused, is := errors.AsType[*problem.Error](b.Jobs.Update(t.Context(), tt.p, job, b.job(func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(parent, 10) })))
			if !is || len(refused.Fields) != 1 || fmt.Sprint(refused.Fields[0].Args) != "[Ring "+want+"]" {
				t.Errorf("%s is told %+v, want %s", tt.p.Name, refused, want)
			}
		}
	})
}

// TestTheFirstChildrenAreOffered, so many as there is room for, whatever is left out of them.
func TestTheFirstChildrenAreOffered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		var ids []int64
		for range maxChildHits + 4 {
			ids = append(ids, b.create(t, nil))
		}
		slices.Reverse(ids) // the newest come first
		// Left out are none, or the job itself and two that it has already.
		for left, job := range map[int]int64{0: 0, 3: ids[0]} {
			hits, err := b.Jobs.FindChildren(t.Context(), b.user, job, "close", ids[min(1, left):left])
			if got := db.IDs(hits, func(c *Child) int64 { return c.ID }); err != nil || !slices.Equal(got, ids[left:left+maxChildHits]) {
				t.Errorf("without %d of them, found are %v of %v (%v)", left, got, ids, err)
			}
		}
	})
}
