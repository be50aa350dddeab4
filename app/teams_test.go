package app

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/db"
)

// people makes users without rights, and returns their ids by name.
func makePeople(t *testing.T, a *App, root *browser, names ...string) map[string]string {
	t.Helper()
	ids := make(map[string]string)
	for _, name := range names {
		if got := root.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		var id string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM xxl_job_user WHERE username = ?", name).Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids[name] = id
	}
	return ids
}

func teamID(t *testing.T, a *App, name string) string {
	t.Helper()
	var id string
	if err := a.pool.QueryRowContext(t.Context(), "SELECT id FROM punctual_team WHERE name = ?", name).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestWhatATeamMayItsMembersMay gives rights to a team and takes them away: they add up with the members' own, in the console and for
// tokens, stand where they come from, count at once and are in the audit log.
func TestWhatATeamMayItsMembersMay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, orders, stock, groups := programs(t, o)
		root := open(t, a).mustLogin()
		ours, theirs := strconv.FormatInt(groups["orders"], 10), strconv.FormatInt(groups["stock"], 10)
		job := *orders.must("addJob", `{"name":"pay","author":"x","executorHandler":"pay","scheduleType":"CRON","scheduleConf":"0 0 3 * * ?"}`).Data
		count := *stock.must("addJob", `{"name":"count","author":"x","executorHandler":"pay"}`).Data
		ids := makePeople(t, a, root, "mina", "jonas")
		if got := root.post("/users/"+ids["mina"], url.Values{"role": {"user"}, "state": {"active"}, "right": {theirs + ".view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("%d", got.status)
		}
		mina := open(t, a)
		mina.login("mina", testPassword)
		token := makeToken(t, mina, url.Values{"name": {"t"}, "scope": {"view", "run", "schedule", "edit"}, "days": {"7"}})
		can := func() string {
			t.Helper()
			var all []string
			for name, status := range map[string]int{
				"sees ours":         mina.get("/jobs/" + job + "/account").status,
				"edits ours":        mina.get("/jobs/" + job + "/edit").status,
				"sees theirs":       mina.get("/jobs/" + count + "/account").status,
				"edits theirs":      mina.get("/jobs/" + count + "/edit").status,
				"edits ours, token": map[bool]int{true: 200, false: 403}[second2(bearer(t, a, token, "updateJob", `{"id":`+job+`,"name":"pay"}`)).Code == 200],
			} {
				if status == http.StatusOK {
					all = append(all, name)
				}
			}
			slices.Sort(all)
			return strings.Join(all, ", ")
		}
		expect := func(when, want string) {
			t.Helper()
			if got := can(); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		save := func(path string, want int, form url.Values) answer {
			t.Helper()
			got := root.post(path, form)
			if got.status != want {
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
			return got
		}
		expect("at first", "sees theirs")
		save("/teams", http.StatusUnprocessableEntity, url.Values{"name": {" "}})
		save("/teams", http.StatusSeeOther, url.Values{"name": {"Night shift"}, "member": {ids["mina"], ids["jonas"]}, "right": {ours + ".edit"}})
		team := "/teams/" + teamID(t, a, "Night shift")
		save("/teams", http.StatusUnprocessableEntity, url.Values{"name": {"night SHIFT"}})
		expect("in a team", "edits ours, edits ours, token, sees ours, sees theirs")
		save("/teams", http.StatusSeeOther, url.Values{"name": {"<b>Stock"}, "member": {ids["mina"]}, "right": {theirs + ".edit", ours + ".view"}})
		second := "/teams/" + teamID(t, a, "<b>Stock")
		expect("in two", "edits ours, edits ours, token, edits theirs, sees ours, sees theirs")

		// It stands where a right comes from.
		for _, page := range []answer{root.get("/users/" + ids["mina"] + "/edit"), mina.get("/profile")} {
			if text := page.document(t).Find("#rights-table").Text(); !strings.Contains(text, "Through Night shift: View, Edit") || !strings.Contains(text, "Through <b>Stock: View") {
				t.Errorf("where the rights come from: %s", text)
			}
		}
		if n := root.get("/users/" + ids["mina"] + "/edit").document(t).Find("input[name=right][checked]").Length(); n != 1 {
			t.Errorf("%d boxes of her own are ticked", n)
		}
		if text := root.get("/users").document(t).Find("#user-" + ids["mina"]).Text(); !strings.Contains(text, "Night shift") || !strings.Contains(text, "orders") {
			t.Errorf("in the list: %s", text)
		}
		if text := root.get("/teams").document(t).Find("tbody").Text(); !strings.Contains(text, "jonas") || !strings.Contains(text, "<b>Stock") {
			t.Errorf("the list of teams: %s", text)
		}

		// What is changed counts at once, and somebody else's change meanwhile is not undone.
		version := root.get(team+"/edit").document(t).Find("[name=version]").AttrOr("value", "")
		save(team, http.StatusSeeOther, url.Values{"name": {"Night shift"}, "version": {version}, "member": {ids["mina"], ids["jonas"]}, "right": {ours + ".run"}})
		expect("narrowed", "edits theirs, sees ours, sees theirs")
		save(team, http.StatusUnprocessableEntity, url.Values{"name": {"Night shift"}, "version": {version}, "right": {ours + ".glue"}})
		save(team, http.StatusSeeOther, url.Values{"name": {"Nights"}, "member": {ids["jonas"]}, "right": {ours + ".edit"}})
		expect("no member any more", "edits theirs, sees ours, sees theirs")
		save(second+"/delete", http.StatusSeeOther, nil)
		expect("without the team", "sees theirs")
		save(team, http.StatusUnprocessableEntity, url.Values{"name": {"Nights"}, "member": {"999"}})
		for path, want := range map[string]int{"/teams/99/edit": 404, second + "/edit": 404, team + "/edit": 200, team + "/delete": 200, "/teams/new": 200} {
			if got := root.get(path); got.status != want {
				t.Errorf("%s: %d, want %d", path, got.status, want)
			}
		}

		// A user who is deleted leaves nothing to one who gets the id, nor does a group.
		save("/users/"+ids["jonas"]+"/delete", http.StatusSeeOther, nil)
		save("/executors/"+ours+"/delete", http.StatusConflict, nil) // it has jobs
		orders.must("removeJob", `{"id":`+job+`}`)
		save("/executors/"+ours+"/delete", http.StatusSeeOther, nil)
		for _, table := range []string{"punctual_team_member", "punctual_team_permission"} {
			var n int
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d rows, %v", table, n, err)
			}
		}
		log := root.get("/audit?kind=team&range=all").document(t)
		if n := log.Find("tbody tr").Length(); n != 5 {
			t.Errorf("%d entries in the audit log: %s", n, log.Find("tbody").Text())
		}
		href := log.Find("tbody a.title").First().AttrOr("href", "")
		if text := root.get(href).document(t).Find("main").Text(); !strings.Contains(text, "view+edit") {
			t.Errorf("the entry says %q", text)
		}
	})
}

func second2(_ int, s said) said { return s }

// TestStreamsFollowTheRightsOfATeam takes a right away from a team, and a member out of it, while members watch.
func TestStreamsFollowTheRightsOfATeam(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		mine, theirs := orders(t, a)
		for _, id := range []int64{mine.run, theirs.run} {
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET trigger_code = 200, handle_code = 0 WHERE id = ?", id); err != nil {
				t.Fatal(err)
			}
		}
		ids := makePeople(t, a, root, "mina", "jonas")
		right := func(group int64) string { return strconv.FormatInt(group, 10) + ".view" }
		both := url.Values{"name": {"watch"}, "member": {ids["mina"], ids["jonas"]}, "right": {right(mine.group), right(theirs.group)}}
		if got := root.post("/teams", both); got.status != http.StatusSeeOther {
			t.Fatalf("%d %s", got.status, got.body)
		}
		mina, jonas := open(t, a), open(t, a)
		mina.login("mina", testPassword)
		jonas.login("jonas", testPassword)
		list, output := mina.watch("/runs/events"), jonas.watch("/runs/"+strconv.FormatInt(theirs.run, 10)+"/events?from=1")
		list.until(t, secret)
		output.until(t, "event: ")
		narrowed := url.Values{"name": {"watch"}, "member": {ids["mina"]}, "right": {right(mine.group)}}
		if got := root.post("/teams/"+teamID(t, a, "watch"), narrowed); got.status != http.StatusSeeOther {
			t.Fatalf("%d %s", got.status, got.body)
		}
		list.until(t, "event: gone")
		output.until(t, "")
	})
}

// TestRulesPutPeopleIntoTeams signs somebody in whose groups at the provider change.
func TestRulesPutPeopleIntoTeams(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := directorytest.NewOIDC(t)
		o.SignIn = company(t, p)
		a := start(t, o)
		root := open(t, a).mustLogin()
		mine, _ := orders(t, a)
		edit := strconv.FormatInt(mine.group, 10) + ".edit"
		for _, name := range []string{"Night shift", "By hand"} {
			if got := root.post("/teams", url.Values{"name": {name}, "right": {edit}}); got.status != http.StatusSeeOther {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		ann := open(t, a)
		status := func(groups ...string) int {
			t.Helper()
			p.SetUser(member("ann", groups...))
			if got := ann.signIn(); got.status != http.StatusSeeOther {
				t.Fatalf("sign in: %d %.300s", got.status, got.body)
			}
			return ann.get("/jobs/" + strconv.FormatInt(mine.job, 10) + "/edit").status
		}
		if got := status("watch"); got != http.StatusForbidden {
			t.Errorf("without a team: %d", got)
		}
		if got := status("watch", "nights"); got != http.StatusOK {
			t.Errorf("by a rule: %d", got)
		}
		team := root.get("/teams/" + teamID(t, a, "Night shift") + "/edit").document(t)
		box := team.Find("input[name=member][checked][disabled]")
		if box.Length() != 1 {
			t.Error("the form does not say that a rule put her there")
		}
		// To save the form takes nobody out whom a rule put there.
		if got := root.post("/teams/"+teamID(t, a, "Night shift"), url.Values{"name": {"Night shift"}, "right": {edit}}); got.status != http.StatusSeeOther {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if got := ann.get("/jobs/" + strconv.FormatInt(mine.job, 10) + "/edit").status; got != http.StatusOK {
			t.Errorf("after the form was saved: %d", got)
		}
		if got := root.post("/teams/"+teamID(t, a, "By hand"), url.Values{"name": {"By hand"}, "member": {box.AttrOr("value", "")}}); got.status != http.StatusSeeOther {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if got := status("watch"); got != http.StatusForbidden {
			t.Errorf("when the rule holds no more: %d", got)
		}
		var teams string
		if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(t.name) FROM punctual_team_member AS m JOIN punctual_team AS t ON t.id = m.team_id").Scan(&teams); err != nil || teams != "By hand" {
			t.Errorf("she is in %q, %v", teams, err)
		}
	})
}

// TestTheFormOfRightsIsQuickToFillIn uses what it offers without a script: a box for all executors, and the rights of a colleague, which
// are filled in and not saved.
func TestTheFormOfRightsIsQuickToFillIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		for i := range 14 {
			name := "group" + strconv.Itoa(10+i)
			if _, err := db.New().InsertGroup(t.Context(), a.pool, db.InsertGroupParams{AppName: name, Title: name}); err != nil {
				t.Fatal(err)
			}
		}
		ids := makePeople(t, a, root, "mina", "jonas")
		ticked := func(doc *goquery.Document) (values []string) {
			doc.Find("input[name=right][checked]").Each(func(_ int, s *goquery.Selection) { values = append(values, s.AttrOr("value", "")) })
			slices.Sort(values)
			return values
		}
		stored := func(name string) []string { return ticked(root.get("/users/" + ids[name] + "/edit").document(t)) }
		base := func(more url.Values) url.Values {
			form := url.Values{"role": {"user"}, "state": {"active"}}
			maps.Copy(form, more)
			return form
		}

		if got := root.post("/users/"+ids["mina"], base(url.Values{"right": {"14.edit"}, "all": {"run", "nothing"}})); got.status != http.StatusSeeOther {
			t.Fatalf("all: %d %s", got.status, got.body)
		}
		minas := stored("mina")
		if len(minas) != 14*2+1 || !slices.Contains(minas, "14.edit") || !slices.Contains(minas, "1.view") || slices.Contains(minas, "1.edit") {
			t.Errorf("mina has %q", minas)
		}
		if got := root.post("/users/"+ids["jonas"], base(url.Values{"right": {"14.glue"}})); got.status != http.StatusSeeOther {
			t.Fatalf("%d", got.status)
		}
		form := root.get("/users/" + ids["jonas"] + "/edit").document(t)
		if first := form.Find("tr[data-filter-row] td").First().Text(); !strings.Contains(first, "group23") || form.Find("[data-filter-rows]").Length() != 1 || form.Find("input[name=all]").Length() != 5 {
			t.Errorf("%q stands first", first)
		}
		if form.Find(`select[name=like] option[value="`+ids["mina"]+`"]`).Length() != 1 || form.Find("select[name=like] option").Length() != 1 {
			t.Errorf("the colleagues are %s", form.Find("select[name=like]").Text())
		}

		// Somebody else's rights stand in the form, for a user, a new one and a team; what else was typed stays, and nothing is saved.
		like := base(url.Values{"do": {"like"}, "like": {ids["mina"]}, "name": {"newcomer"}, "state": {"disabled"}, "member": {ids["jonas"]}, "right": {"3.view"}})
		for _, path := range []string{"/users/" + ids["jonas"], "/users", "/teams"} {
			got := root.post(path, like)
			doc := got.document(t)
			if got.status != http.StatusOK || !slices.Equal(ticked(doc), minas) || !strings.Contains(doc.Find(".notice").Text(), "mina") {
				t.Errorf("%s: %d, %q", path, got.status, ticked(doc))
			}
			if path == "/teams" && (doc.Find(`input[name=member][checked][value="`+ids["jonas"]+`"]`).Length() != 1 || doc.Find("#name").AttrOr("value", "") != "newcomer") {
				t.Error("the form of a team forgets what was typed")
			}
			if path != "/teams" && doc.Find(`input[name=state][value=disabled][checked]`).Length() != 1 {
				t.Errorf("%s forgets what was typed", path)
			}
		}
		if got := stored("jonas"); !slices.Equal(got, []string{"14.glue", "14.view"}) {
			t.Errorf("jonas has %q", got)
		}
		for table, want := range map[string]int{"xxl_job_user": 3, "punctual_team": 0} {
			var n int
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil || n != want {
				t.Errorf("%s: %d rows, %v", table, n, err)
			}
		}
		like.Set("like", "999")
		if got := root.post("/users/"+ids["jonas"], like); got.status != http.StatusNotFound {
			t.Errorf("like nobody: %d", got.status)
		}
	})
}
