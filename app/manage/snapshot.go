package manage

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// jobSnapshot is a job's definition for the audit log, by the names of its columns.
func jobSnapshot(j db.Job) Snapshot { return specSnapshot(j.JobGroup, j.Spec()) }

// changeSnapshots are two of them. A choice that says nothing is its default: who saves a form that names that has changed nothing.
func changeSnapshots(before, after db.Job) (Snapshot, Snapshot) {
	return specSnapshot(before.JobGroup, before.Spec().WithDefaults()), specSnapshot(after.JobGroup, after.Spec().WithDefaults())
}

func specSnapshot(group int64, spec jobspec.Job) Snapshot {
	snapshot := Snapshot{"job_group": group}
	for _, f := range jobspec.Fields {
		snapshot[f.Column] = f.Value(&spec)
	}
	return snapshot
}

// groupSnapshot is a group for it. The addresses of an automatic one are the registry's and nobody's change.
func groupSnapshot(g db.Group, o GroupOptions) Snapshot {
	f := Snapshot{"app_name": g.AppName, "title": g.Title, "address_type": g.AddressType, "idle_is_lost": o.IdleIsLost,
		"token_manages": o.TokenManages, "script_review": o.ScriptReview, "keep_output": string(o.KeepOutput), "max_running": o.MaxRunning}
	if g.AddressType == AddressManual {
		f["address_list"] = string(g.AddressList)
	}
	return f
}

// snapshot is a user without the password.
func (u User) snapshot() Snapshot {
	return Snapshot{
		"username": u.Name, "role": role(u.Admin, u.Auditor), "disabled": u.Disabled, "left": u.Left, "rights": rightsText(u.Rights), "provider": u.Provider,
		"break_glass": u.BreakGlass, "teams": strings.Join(teamNames(u.Teams), ", "),
	}
}

// rightsText is a line for each group, in the order of their ids.
func rightsText(rights map[int64]auth.Rights) string {
	ids := slices.Sorted(maps.Keys(rights))
	lines := make([]string, len(ids))
	for i, id := range ids {
		lines[i] = "#" + strconv.FormatInt(id, 10) + " " + strings.Join(auth.RightNames(rights[id]), "+")
	}
	return strings.Join(lines, "\n")
}
