package app

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rights are what somebody may do in groups, of which there is one, and one that there is not.
func drawRights(r *rapid.T) []map[string]any {
	list := []map[string]any{}
	for range rapid.IntRange(0, 2).Draw(r, "groups") {
		list = append(list, map[string]any{"group_id": 1, "rights": rapid.SliceOfN(rapid.SampledFrom([]string{"view", "run", "schedule", "edit", "glue"}), 0, 5).Draw(r, "rights")})
	}
	return list
}

func TestAUserIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "xxl_job_user", "punctual_permission", "punctual_team_member")
		often(t, func(r *rapid.T) bool {
			sent := map[string]any{"name": "ann1"}
			if rapid.Bool().Draw(r, "service") {
				sent["service"] = true
			} else {
				sent["password"] = "correct-horse-lamp-17"
				maybe(r, sent, "role", anyOf("admin", "user"))
				maybe(r, sent, "state", anyOf("active", "disabled"))
				maybe(r, sent, "break_glass", anyOf(true, false))
				if rapid.Bool().Draw(r, "with rights") {
					sent["rights"] = drawRights(r)
				}
			}
			p, ok := u.make(r, "POST", "/users", sent)
			if !ok {
				return false
			}
			defer p.delete()
			p.same("nothing")
			id := idOf(p.was)
			late := p.form("/users/"+id+"/edit", "/users/"+id)
			p.patched("name", "password", "service")
			p.posted("/users/"+id, late)
			var rows struct{ Data []map[string]any }
			if got := u.root.get("/xxl-job-admin/user/pageList?start=0&length=10&role=-1&username=ann1"); json.Unmarshal([]byte(got.body), &rows) != nil || len(rows.Data) != 1 {
				r.Fatalf("the rows of XXL-JOB's console: %d %s", got.status, got.body)
			}
			if got := u.root.post("/xxl-job-admin/user/update", formOfRow(rows.Data[0])); !strings.Contains(got.body, `"code":200`) {
				r.Fatalf("XXL-JOB's form is refused: %s\nof %s", got.body, p.sent)
			}
			p.same("XXL-JOB's form")
			return true
		})
	})
}

func TestATeamIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "punctual_team", "punctual_team_member", "punctual_team_permission")
		var ann struct{ ID int64 }
		u.c.json(201, &ann, "POST", "/users", `{"name":"ann1","password":"correct-horse-lamp-17"}`)
		often(t, func(r *rapid.T) bool {
			sent := map[string]any{"name": oddLine(50).Draw(r, "name")}
			if rapid.Bool().Draw(r, "with members") {
				sent["member_ids"] = rapid.SliceOfN(rapid.SampledFrom([]int64{1, ann.ID}), 0, 3).Draw(r, "member_ids")
			}
			if rapid.Bool().Draw(r, "with rights") {
				sent["rights"] = drawRights(r)
			}
			p, ok := u.make(r, "POST", "/teams", sent)
			if !ok {
				return false
			}
			defer p.delete()
			p.same("nothing")
			id := idOf(p.was)
			late := p.form("/teams/"+id+"/edit", "/teams/"+id)
			p.replaced([]string{"id"}, map[string]func(any) (string, any){"members": func(v any) (string, any) {
				ids := []any{}
				for _, m := range v.([]any) {
					ids = append(ids, m.(map[string]any)["id"])
				}
				return "member_ids", ids
			}})
			p.posted("/teams/"+id, late)
			return true
		})
	})
}
