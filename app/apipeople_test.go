package app

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
)

// TestPeopleAreLookedAfterByAProgram makes users, a service account and a team, and tokens for them.
func TestPeopleAreLookedAfterByAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		type right struct {
			Group  int `json:"group_id"`
			Rights []string
		}
		type user struct {
			ID                  int
			Name, Role, State   string
			Password            string
			Rights              []right
			Teams               []struct{ Name string }
			Service, BreakGlass bool
		}
		var ann user
		got := c.json(201, &ann, "POST", "/users", `{"name":"anna","rights":[{"group_id":1,"rights":["run"]}]}`)
		at := got.header.Get("Location")
		if at != fmt.Sprintf("/api/v1/users/%d", ann.ID) || ann.Role != "user" || ann.State != "active" || len(ann.Rights) != 1 || !slices.Equal(ann.Rights[0].Rights, []string{"view", "run"}) {
			t.Errorf("created: %+v at %s", ann, at)
		}
		if in := open(t, a).login("anna", ann.Password); len(ann.Password) < 8 || in.status != 303 {
			t.Errorf("the password that was answered opens nothing: %d", in.status)
		}
		at = strings.TrimPrefix(at, "/api/v1")
		again := c.do("GET", at, "")
		if strings.Contains(again.body, ann.Password) || again.header.Get("ETag") != got.header.Get("ETag") {
			t.Errorf("read again: %v %s", again.header, again.body)
		}
		var now user
		c.json(200, &now, "PATCH", at, `{"state":"disabled","rights":[{"group_id":1,"rights":["edit"]}]}`, "If-Match", got.header.Get("ETag"))
		if now.State != "disabled" || !slices.Equal(now.Rights[0].Rights, []string{"view", "edit"}) {
			t.Errorf("patched: %+v", now)
		}
		var r refusal
		if c.json(412, &r, "PATCH", at, `{"state":"active"}`, "If-Match", got.header.Get("ETag")); r.Code != "changed" {
			t.Errorf("stale: %+v", r)
		}
		c.json(200, &now, "PATCH", at, `{"state":"active"}`)

		var service user
		c.json(201, &service, "POST", "/users", `{"name":"robot","service":true}`)
		if !service.Service || service.Password != "" {
			t.Errorf("a service account: %+v", service)
		}
		if c.json(422, &r, "POST", "/users", `{"name":"robot2","service":true,"password":"a-new-lamp-otter"}`); !slices.Equal(r.fields(), []string{"body password error.service"}) {
			t.Errorf("a service account with a password: %+v", r)
		}
		if c.json(422, &r, "POST", "/users", `{"name":"anna"}`); !slices.Equal(r.fields(), []string{"body name user.error.taken"}) {
			t.Errorf("a name that is taken: %+v", r)
		}

		// Rights in a group that is not there are refused by everything that gives some.
		nowhere := `"rights":[{"group_id":1,"rights":["run"]},{"group_id":99,"rights":["run"]}]`
		for _, way := range [][3]string{{"POST", "/users", `{"name":"bert",` + nowhere + `}`}, {"PATCH", at, `{` + nowhere + `}`}, {"POST", "/teams", `{"name":"day",` + nowhere + `}`}} {
			if got := c.json(422, &r, way[0], way[1], way[2]); !slices.Equal(r.fields(), []string{"body rights rights.error.group"}) || !strings.Contains(got.body, "number 99") {
				t.Errorf("%s %s for a group that is not there: %s", way[0], way[1], got.body)
			}
		}

		var team struct {
			ID      int
			Name    string
			Members []struct{ Name, State string }
			Rights  []right
		}
		made := c.json(201, &team, "POST", "/teams", fmt.Sprintf(`{"name":"night shift","member_ids":[%d],"rights":[{"group_id":1,"rights":["schedule"]}]}`, ann.ID))
		if len(team.Members) != 1 || team.Members[0].Name != "anna" || !slices.Equal(team.Rights[0].Rights, []string{"view", "schedule"}) {
			t.Errorf("team: %+v", team)
		}
		if c.json(200, &now, "GET", at, ""); len(now.Teams) != 1 || now.Teams[0].Name != "night shift" {
			t.Errorf("in a team: %+v", now)
		}
		teamAt := fmt.Sprintf("/teams/%d", team.ID)
		c.json(200, &team, "PUT", teamAt, `{"name":"day shift"}`, "If-Match", made.header.Get("ETag"))
		if team.Name != "day shift" || len(team.Members) != 0 || len(team.Rights) != 0 {
			t.Errorf("replaced: %+v", team)
		}
		c.json(412, &r, "PUT", teamAt, `{"name":"late shift"}`, "If-Match", made.header.Get("ETag"))

		var gone struct {
			Done bool
			Name string
		}
		for _, path := range []string{at, teamAt} {
			if c.json(200, &gone, "DELETE", path+"?dry_run=true", ""); gone.Done || gone.Name == "" {
				t.Errorf("dry: %+v", gone)
			}
			if c.json(200, &gone, "DELETE", path, ""); !gone.Done {
				t.Errorf("deleted: %+v", gone)
			}
			c.json(404, &r, "GET", path, "")
		}
	})
}

// TestAProgramMakesTokens for itself and for service accounts, each told once and kept nowhere; and only an administrator's does.
func TestAProgramMakesTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		var service struct{ ID int }
		c.json(201, &service, "POST", "/users", `{"name":"robot","service":true}`)
		c.json(200, &service, "PATCH", fmt.Sprintf("/users/%d", service.ID), `{"rights":[{"group_id":1,"rights":["run","edit"]}]}`)
		var made struct {
			ID    int
			Token string
		}
		got := c.json(201, &made, "POST", "/tokens", fmt.Sprintf(`{"owner_id":%d,"name":"deploys","scope":["run"],"group_ids":[1],"days":3}`, service.ID))
		if !auth.IsAPIToken(made.Token) || got.header.Get("Location") != fmt.Sprintf("/api/v1/tokens/%d", made.ID) {
			t.Fatalf("made: %+v %v", made, got.header)
		}
		var token struct {
			Owner, Name, State string
			Scope              []string
			Groups             []int `json:"group_ids"`
			ExpiresAt          *string
		}
		read := c.json(200, &token, "GET", fmt.Sprintf("/tokens/%d", made.ID), "")
		if token.Owner != "robot" || token.State != "active" || !slices.Equal(token.Scope, []string{"view", "run"}) || !slices.Equal(token.Groups, []int{1}) || strings.Contains(read.body, made.Token) {
			t.Errorf("read: %s", read.body)
		}
		robot := &caller{t: t, base: c.base, token: made.Token}
		var r refusal
		robot.json(200, &struct{}{}, "GET", "/groups/1", "")
		robot.json(403, &r, "POST", "/tokens", `{"name":"more","scope":["edit"]}`)
		// Nor does one of an administrator that is not for everything.
		narrow := &caller{t: t, base: c.base, token: makeToken(t, open(t, a).mustLogin(), url.Values{"name": {"narrow"}, "scope": {"edit"}, "days": {"7"}})}
		narrow.json(403, &r, "POST", "/tokens", `{"name":"more","scope":["edit"]}`)
		var person struct{ ID int }
		c.json(201, &person, "POST", "/users", `{"name":"mina"}`)
		for _, owner := range []int{person.ID, 99} { // 99 is not there
			if c.json(422, &r, "POST", "/tokens", fmt.Sprintf(`{"name":"x","scope":["view"],"owner_id":%d}`, owner)); !slices.Equal(r.fields(), []string{"body owner_id apitoken.owner"}) {
				t.Errorf("a token of %d, which is no service account: %+v", owner, r)
			}
		}
		c.json(201, &struct{}{}, "POST", "/tokens", `{"name":"key","scope":["view"]}`, "Idempotency-Key", "k") // which means nothing here
		for table, column := range map[string]string{"punctual_idempotency": "answer", "punctual_audit": "after_json", "punctual_api_token": "hash"} {
			var n int
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE "+column+" LIKE ?", "%"+made.Token+"%").Scan(&n); err != nil || n != 0 {
				t.Errorf("%s keeps the token: %d %v", table, n, err)
			}
		}
	})
}

// TestAlarmsAreLookedAfterByAProgram makes a channel whose secrets are never told, leads alarms to it, and tries it.
func TestAlarmsAreLookedAfterByAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		type channel struct {
			ID                    int
			Name, Kind            string
			Enabled               bool
			QuietFrom             string `json:"quiet_from"`
			HasURL                bool   `json:"has_url"`
			HasSecret             bool   `json:"has_secret"`
			HasPassword           bool   `json:"has_password"`
			Host, Username        string
			Port                  int
			Routes                []struct{ ID, ScopeID int }
			Password, Secret, URL *string
		}
		var hook channel
		got := c.json(201, &hook, "POST", "/alarms/channels", `{"name":"chat","kind":"dingtalk","url":"http://127.0.0.1:1/robot?access_token=xxHIDDENxx","secret":"xxHIDDENxx","quiet_from":"22:00","quiet_to":"07:00","every_job":true}`)
		if !hook.Enabled || !hook.HasURL || !hook.HasSecret || hook.QuietFrom != "22:00" || len(hook.Routes) != 1 {
			t.Errorf("created: %s", got.body)
		}
		at := fmt.Sprintf("/alarms/channels/%d", hook.ID)
		answers := []answer{got}
		answers = append(answers, c.json(200, &hook, "PATCH", at, `{"name":"the chat"}`)) // which leaves the secrets as they are
		if hook.Name != "the chat" || !hook.HasURL || !hook.HasSecret || hook.QuietFrom != "22:00" {
			t.Errorf("patched: %+v", hook)
		}
		var r refusal
		if c.json(412, &r, "PATCH", at, `{"name":"late"}`, "If-Match", got.header.Get("ETag")); r.Code != "changed" {
			t.Errorf("a channel that was changed meanwhile: %+v", r)
		}
		if answers = append(answers, c.json(200, &hook, "PATCH", at, `{"name":"the chat"}`, "If-Match", answers[1].header.Get("ETag"))); hook.Name != "the chat" {
			t.Errorf("patched as it was read: %+v", hook)
		}
		routed := c.json(201, &hook, "POST", at+"/routes", `{"scope":"group","scope_id":1,"causes":["lost"]}`)
		if len(hook.Routes) != 2 {
			t.Fatalf("routes: %+v", hook)
		}
		answers = append(answers, c.json(200, &hook, "PUT", fmt.Sprintf("%s/routes/%d", at, hook.Routes[1].ID), `{"scope":"group","scope_id":1,"causes":["failed","slow"]}`, "If-Match", routed.header.Get("ETag")))
		c.json(200, &hook, "DELETE", fmt.Sprintf("%s/routes/%d", at, hook.Routes[1].ID), "")
		if c.json(422, &r, "POST", at+"/routes", `{"scope":"job","scope_id":99}`); len(r.Errors) != 1 || r.Errors[0].Code != "alarm.error.nojob" {
			t.Errorf("a job that is not there: %+v", r)
		}
		var test struct {
			Taken bool
			Error string
		}
		answers = append(answers, c.json(200, &test, "POST", at+"/test", "")) // nobody listens there
		if test.Taken || test.Error == "" {
			t.Errorf("test: %+v", test)
		}
		c.json(200, &hook, "PATCH", at, `{"secret":""}`)
		if hook.HasSecret {
			t.Error("a secret that was taken away is there")
		}
		if c.json(200, &hook, "PATCH", at, `{"quiet_from":""}`); hook.QuietFrom != "" {
			t.Errorf("quiet hours that were taken away begin at %s", hook.QuietFrom)
		}
		for _, half := range []string{`{"quiet_from":"22:00"}`, `{"quiet_to":"07:00"}`, `{"quiet_from":"22:00","quiet_to":""}`} {
			if c.json(422, &r, "PATCH", at, half); !slices.Equal(r.fields(), []string{"body quiet_from alarm.error.half"}) {
				t.Errorf("quiet hours with one end, %s: %q", half, r.fields())
			}
		}
		if c.json(200, &hook, "PATCH", at, `{"quiet_from":"","quiet_to":""}`); hook.QuietFrom != "" {
			t.Errorf("no quiet hours begin at %s", hook.QuietFrom)
		}

		var mail channel
		answers = append(answers, c.json(201, &mail, "POST", "/alarms/channels", `{"name":"mail","kind":"mail","group_id":1,"host":"127.0.0.1","port":1,"security":"none","username":"u","password":"xxHIDDENxx","from":"a@example.com","recipients":["b@example.com"]}`))
		if !mail.HasPassword || mail.Port != 1 || mail.Username != "u" {
			t.Errorf("mail: %+v", mail)
		}
		if c.json(422, &r, "POST", "/alarms/channels", `{"name":"mail","kind":"mail","group_id":99,"host":"h","from":"none"}`); !slices.Contains(r.fields(), "body group_id job.error.group") {
			t.Errorf("a group that is not there: %+v", r)
		}
		answers = append(answers, c.do("GET", "/alarms/channels", ""), c.do("GET", "/audit", ""))
		for _, answer := range answers {
			if strings.Contains(answer.body, "xxHIDDENxx") {
				t.Errorf("a secret is told: %s", answer.body)
			}
		}

		// A message that was given up, which is tried again.
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_alarm_channel SET enabled = 0"); err != nil {
			t.Fatal(err)
		}
		var messages struct {
			Items []struct{ ID int }
			Next  string
		}
		c.json(200, &messages, "GET", "/alarms/messages?state=given_up&limit=1", "")
		c.json(409, &r, "POST", "/alarms/messages/99/retry", "")
		var gone struct{ Done bool }
		c.json(200, &gone, "DELETE", at+"?dry_run=true", "")
		if c.json(200, &gone, "DELETE", at, ""); !gone.Done {
			t.Error("not deleted")
		}
		c.json(404, &r, "GET", at, "")
	})
}

// TestSettingsAndStatisticsOfAProgram changes settings as the form does, and reads the dashboard's numbers.
func TestSettingsAndStatisticsOfAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.MailDomains = "example.com"
		a, c := apiCaller(t, o)
		c.json(201, &struct{}{}, "POST", "/groups", `{"app_name":"stock","title":"Stock"}`)
		things(t, a, 1, "mine")
		things(t, a, 2, "other")
		type settings struct {
			Items []struct{ Name, Value, Source, Variable string }
		}
		value := func(s settings, name string) string {
			i := slices.IndexFunc(s.Items, func(x struct{ Name, Value, Source, Variable string }) bool { return x.Name == name })
			return s.Items[i].Value + " " + s.Items[i].Source
		}
		var all settings
		got := c.json(200, &all, "GET", "/settings", "")
		if value(all, "audit_days") != "730 default" || value(all, "alarm_mail_domains") != "example.com environment" {
			t.Errorf("settings: %s", got.body)
		}
		c.json(200, &all, "PATCH", "/settings", `{"audit_days":"31","default_language":"zh-CN"}`, "If-Match", got.header.Get("ETag"))
		if value(all, "audit_days") != "31 stored" || value(all, "default_language") != "zh-CN stored" {
			t.Errorf("changed: %+v", all)
		}
		if c.json(200, &all, "PATCH", "/settings", `{"audit_days":null}`); value(all, "audit_days") != "31 stored" {
			t.Errorf("null changes a setting: %+v", all)
		}
		var r refusal
		c.json(412, &r, "PATCH", "/settings", `{"audit_days":"40"}`, "If-Match", got.header.Get("ETag"))
		for body, want := range map[string]string{
			`{"audit_days":"1","glue":"off"}`: "body audit_days", `{"no_such_setting":"1"}`: "body no_such_setting error.unexpected", `{"audit_days":31}`: "body audit_days error.string",
			`{"alarm_mail_domains":"elsewhere.example.com"}`: "body alarm_mail_domains error.environment",
		} {
			if c.json(422, &r, "PATCH", "/settings", body); len(r.Errors) != 1 || !strings.HasPrefix(r.fields()[0], want) {
				t.Errorf("%s: %+v", body, r)
			}
		}
		var numbers struct {
			Jobs        int
			JobsStarted int `json:"jobs_started"`
			Sum         struct{ Failed int }
			Days        []struct{ Date string }
		}
		if c.json(200, &numbers, "GET", "/statistics?days=3", ""); numbers.Jobs != 2 || len(numbers.Days) != 3 || numbers.Days[0].Date >= numbers.Days[2].Date {
			t.Errorf("statistics: %+v", numbers)
		}
		var used struct {
			Items []struct {
				Group   int64  `json:"group_id"`
				AppName string `json:"app_name"`
			}
		}
		if c.json(200, &used, "GET", "/statistics/usage", ""); len(used.Items) != 2 || used.Items[1].Group != 2 || used.Items[1].AppName != "stock" {
			t.Errorf("usage: %+v", used)
		}
		for query, want := range map[string]string{"from=yesterday": "invalid query from error.date", "until=2026-02-30": "invalid query until error.date", "from=2000-01-01": "invalid query from usage.range", "from=2099-01-02": "invalid query from usage.range", "from=2099-01-02&until=2099-01-01": "invalid query from usage.range"} {
			var refused refusal
			c.json(422, &refused, "GET", "/statistics/usage?"+query, "")
			if got := strings.Join(append([]string{refused.Code}, refused.fields()...), " "); got != want {
				t.Errorf("usage by %s: %s", query, got)
			}
		}
		ann := &caller{t: t, base: c.base, token: makeToken(t, normalUser(t, a), url.Values{"name": {"x"}, "scope": {"view"}, "days": {"7"}})}
		if ann.json(200, &numbers, "GET", "/statistics", ""); numbers.Jobs != 1 || len(numbers.Days) != 7 {
			t.Errorf("who sees one group: %+v", numbers)
		}
		if ann.json(200, &used, "GET", "/statistics/usage", ""); len(used.Items) != 1 || used.Items[0].Group != 1 {
			t.Errorf("who sees one group is told the usage of %+v", used)
		}
		var ahead struct {
			Minutes []struct{ From string }
		}
		if c.json(200, &ahead, "GET", "/statistics/forecast", ""); len(ahead.Minutes) != 60 {
			t.Errorf("forecast: %+v", ahead)
		}
		var health struct{ Ready bool }
		if c.json(200, &health, "GET", "/health", ""); !health.Ready {
			t.Error("not ready")
		}
	})
}

// TestATokenThatIsRefusedHasDoneNothing: to end the sessions of its owner a token needs what it needs to end anybody's.
func TestATokenThatIsRefusedHasDoneNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		var list struct {
			Items []struct {
				ID   int
				Role string
			}
		}
		if c.json(200, &list, "GET", "/users", ""); len(list.Items) != 1 || list.Items[0].Role != "admin" {
			t.Fatalf("users: %+v", list)
		}
		narrow := &caller{t: t, base: c.base, token: makeToken(t, root, url.Values{"name": {"narrow"}, "scope": {"view"}, "days": {"7"}})}
		signOut := fmt.Sprintf("/users/%d/sign-out", list.Items[0].ID)
		narrow.json(403, &refusal{}, "POST", signOut, "")
		if got := root.get("/profile"); got.status != 200 {
			t.Errorf("the owner of a token that was refused is signed out: %d", got.status)
		}
		c.json(200, &struct{}{}, "POST", signOut, "")
		if got := root.get("/profile"); got.status != 303 {
			t.Errorf("an administrator's token ends the sessions of its owner: %d", got.status)
		}
	})
}
