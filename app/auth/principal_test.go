package auth

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhatAPrincipalMay holds each question about rights against the same few people and programs.
func TestWhatAPrincipalMay(t *testing.T) {
	t.Parallel()
	admin, auditor := NewPrincipal(1, "root", RoleAdmin, ""), NewPrincipal(3, "wang", RoleAuditor, "7")
	tests := []struct {
		name     string
		p        Principal
		rights   map[int64]Rights // by group
		anywhere Rights           // of one right at a time
		groups   []int64
		all      bool
	}{
		{"nobody", Principal{}, map[int64]Rights{0: 0, 7: 0}, 0, nil, false},
		{"an administrator", admin, map[int64]Rights{7: AllRights, 99: AllRights}, AllRights, nil, true},
		{"a user without groups", NewPrincipal(2, "ann", RoleUser, ""), map[int64]Rights{0: 0, 7: 0}, 0, nil, false},
		{"XXL-JOB's list", NewPrincipal(2, "ann", RoleUser, " 7 , 9"), map[int64]Rights{7: AllRights, 9: AllRights, 8: 0}, AllRights, []int64{7, 9}, false},
		{"a damaged list", NewPrincipal(2, "ann", RoleUser, "0,-7,x,,7x"), map[int64]Rights{0: 0, 7: 0, -7: 0}, 0, nil, false},
		{"a role that is unknown", NewPrincipal(2, "ann", 3, "7"), map[int64]Rights{7: AllRights, 8: 0}, AllRights, []int64{7}, false},
		{"an auditor with a group", auditor, map[int64]Rights{7: AllRights, 8: RightView}, AllRights, nil, true},
		{"an auditor's narrow token", auditor.Narrow(RightRun, false, ""), map[int64]Rights{7: RightView | RightRun, 8: RightView}, RightView | RightRun, nil, true},
		{"one of an auditor's groups", auditor.Narrow(RightRun, false, "8"), map[int64]Rights{7: 0, 8: RightView}, RightView, []int64{8}, false},
		{"finer rights", NewPrincipal(2, "ann", RoleUser, "").Grant(7, RightRun).Grant(7, RightSchedule).Grant(8, RightView),
			map[int64]Rights{7: RightView | RightRun | RightSchedule, 8: RightView, 9: 0}, RightView | RightRun | RightSchedule, []int64{7, 8}, false},
		{"what is no right", NewPrincipal(2, "ann", RoleUser, "").Grant(7, afterRights).Grant(8, 0), map[int64]Rights{7: 0, 8: 0}, 0, nil, false},
		{"an administrator's narrow token", admin.Narrow(RightRun, false, ""), map[int64]Rights{7: RightView | RightRun, 8: RightView | RightRun},
			RightView | RightRun, nil, true},
		{"one of some groups", admin.Narrow(RightGlue, false, "7"), map[int64]Rights{7: RightView | RightGlue, 8: 0}, RightView | RightGlue, []int64{7}, false},
	}
	for i, tt := range tests {
		for group, want := range tt.rights {
			if got := tt.p.Rights(group); got != want {
				t.Errorf("%s: rights %05b in group %d, want %05b", tt.name, got, group, want)
			}
			if got := tt.p.CanUseGroup(group); got != want.Has(RightView) {
				t.Errorf("%s: may see group %d: %t", tt.name, group, got)
			}
			for asked := range AllRights + 1 { // also several at a time
				if got := tt.p.Can(group, asked); got != (tt.p.Admin || asked != 0 && want.Has(asked)) {
					t.Errorf("%s: may %05b in group %d: %t", tt.name, asked, group, got)
				}
			}
		}
		for _, x := range rightNames {
			if got := tt.p.CanAnywhere(x.right); got != tt.anywhere.Has(x.right) {
				t.Errorf("%s: may %s somewhere: %t", tt.name, x.name, got)
			}
		}
		if got := tt.p.CanAnywhere(RightNamed("nothing")); got != tt.p.Admin {
			t.Errorf("%s: has a right that is none: %t", tt.name, got)
		}
		groups, all := tt.p.Groups()
		slices.Sort(groups)
		if !slices.Equal(groups, tt.groups) || all != tt.all {
			t.Errorf("%s: may see the groups %v, all %t", tt.name, groups, all)
		}
		if tt.p.Zero() != (tt.p.UserID == 0) || tt.p.Zero() != (i == 0) {
			t.Errorf("%s: nobody is logged in: %t", tt.name, tt.p.Zero())
		}
		for k, other := range tests {
			same := tt.p.UserID == other.p.UserID && cmp.Equal(tt.p, other.p, cmp.AllowUnexported(Principal{}))
			if got := tt.p.SameRights(other.p); got != same && i != k {
				t.Errorf("%s and %s may do the same: %t", tt.name, other.name, got)
			}
		}
	}
	if !admin.SameRights(NewPrincipal(1, "renamed", RoleAdmin, "")) {
		t.Error("a name makes a difference")
	}
	before := NewPrincipal(2, "ann", RoleUser, "7")
	if before.Grant(8, RightView); before.Rights(8) != 0 {
		t.Error("a grant is of another principal too")
	}
}

func TestTheNamesOfRights(t *testing.T) {
	t.Parallel()
	if got := RightNames(RightView | RightGlue); !slices.Equal(got, []string{"view", "glue"}) {
		t.Errorf("%q", got)
	}
	if got := RightNames(0); got != nil {
		t.Errorf("of none: %q", got)
	}
}

// TestRightsOfTeamsCountToo, and what is stored beyond the rights there are counts for nothing.
func TestRightsOfTeamsCountToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		id := addUser(t, pool, "ann", weakHash, RoleUser, "5")
		if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_team (id, name) VALUES (3, 'night'), (4, 'others')"); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_team_permission (team_id, group_id, rights) VALUES (3, 6, 4), (3, 8, 1), (4, 9, 31)"); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			"INSERT INTO punctual_team_member (user_id, team_id) VALUES (?, 3)",
			"INSERT INTO punctual_permission (user_id, group_id, rights) VALUES (?, 6, 2)",
			"INSERT INTO punctual_permission (user_id, group_id, rights) VALUES (?, 7, 96)", // bits that are no rights
		} {
			if _, err := pool.ExecContext(t.Context(), statement, id); err != nil {
				t.Fatal(err)
			}
		}
		p, err := withGranted(t.Context(), db.New(), pool, NewPrincipal(id, "ann", RoleUser, "5"))
		if err != nil {
			t.Fatal(err)
		}
		for group, want := range map[int64]Rights{5: AllRights, 6: RightView | RightRun | RightEdit, 7: 0, 8: RightView, 9: 0} {
			if got := p.Rights(group); got != want {
				t.Errorf("group %d: %05b, want %05b", group, got, want)
			}
		}
	})
}
