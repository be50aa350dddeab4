package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/api"
	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// apiNeeds names every operation of API v1, by its id. A new one without an entry fails the test.
var apiNeeds = map[string]need{
	"listGroups": user, "getGroup": view, "createGroup": admin, "replaceGroup": admin, "patchGroup": admin, "deleteGroup": admin,

	"listJobs": user, "getJob": view, "createJob": edit, "replaceJob": edit, "patchJob": edit, "deleteJob": edit, "startJob": sched, "stopJob": sched, "releaseJob": edit, "triggerJob": run,
	// Of what is in the files or the filter, what somebody may not change or see is refused or left out: TestJobsAreKeptInFiles.
	"applyJobs": user, "exportJobs": user,
	"listBackfills": view, "getBackfill": view, "createBackfill": run, "pauseBackfill": run, "resumeBackfill": run, "stopBackfill": run,

	"listAddresses": view, "setRotation": admin,
	"getAccessToken": admin, "rotateAccessToken": admin, "getGroupAccessToken": admin, "rotateGroupAccessToken": admin, "dropGroupAccessToken": admin,
	"getScriptChange": script, "approveScript": script, "rejectScript": script,
	"getNextTimes": view, "previewSchedule": user, "listScriptVersions": script, "getScriptVersion": script, "saveScript": script, "tryScript": {login: true, right: auth.RightRun | auth.RightGlue}, "getTriedScript": script, "restoreScript": script,
	"listCalendars": user, "getCalendar": user, "putCalendar": admin, "importCalendar": admin, "deleteCalendar": admin,
	"listGroupNotes": view, "createGroupNote": run, "listJobNotes": view, "createJobNote": run, "listRunNotes": view, "createRunNote": run, "deleteNote": run,
	"listSecrets": edit, "setSecret": {login: true, right: auth.RightEdit | auth.RightGlue}, "deleteSecret": {login: true, right: auth.RightEdit | auth.RightGlue},
	"listPauses": user, "getPause": view, "createPause": sched, "endPause": sched,
	"listRuns": user, "searchOutput": user, "getRun": view, "getRunOutput": view, "watchRuns": user, "watchRun": view, "killRun": run, "rerunRun": run, "rerunRuns": user, "killRuns": user, "repeatSteps": run, "listStepItems": view, "approveStep": run, "rejectStep": run, "skipStep": run, "succeedStep": run, "clearRuns": edit,
	"listNodes": admin, "watchNodes": admin, "watchJobs": user, "watchAddresses": view, "watchBackfills": view, "watchAlarmMessages": admin, "listAudit": audits,
	// A token of somebody else does not exist.
	"listTokens": user, "getToken": user, "revokeToken": user, "whoAmI": user,
	// One that is none of an administrator would make a token that may more than it.
	"createToken": admin,

	// As long as the setting alarm_editors is off.
	"listAlarmChannels": admin, "getAlarmChannel": admin, "createAlarmChannel": admin, "patchAlarmChannel": admin, "deleteAlarmChannel": admin, "testAlarmChannel": admin, "previewAlarmWords": admin,
	"createAlarmRoute": admin, "replaceAlarmRoute": admin, "deleteAlarmRoute": admin, "listAlarmMessages": admin, "retryAlarmMessage": admin,
	"listOpenAlarms": user, "getOpenAlarms": view, "acknowledgeAlarms": run, "unacknowledgeAlarms": run,
	"listUsers": audits, "getUser": audits, "createUser": admin, "patchUser": admin, "deleteUser": admin, "signOutUser": admin,
	"listTeams": audits, "getTeam": audits, "createTeam": admin, "replaceTeam": admin, "deleteTeam": admin,
	"listSettings": audits, "patchSettings": admin,
	"beginDeviceLogin": anybody, "takeDeviceLogin": anybody, // TestAProgramIsLetIn

	"listWebhooks": admin, "getWebhook": admin, "createWebhook": admin, "patchWebhook": admin, "deleteWebhook": admin, "rotateWebhookSecret": admin, "testWebhook": admin,
	"listDeliveries": admin, "sendDeliveryAgain": admin, "sendGivenUpAgain": admin,

	"getTimeline": user, "getStatistics": user, "getForecast": user, "getOutlook": user, "getUsage": user, "getHealth": user,
}

// apiBody is what an operation is asked with that needs a body, for things of a group.
func apiBody(id string, o objects) string {
	switch id {
	case "createJob":
		return fmt.Sprintf(`{"group_id":%d,"description":"close the day","author":"ann","handler":"x"}`, o.group)
	case "replaceJob":
		return fmt.Sprintf(`{"group_id":%d,"description":"close the day","author":"ann","schedule":"CRON","cron":"0 0 2 * * ?","kind":"GLUE_SHELL"}`, o.group)
	case "createBackfill":
		return `{"from":"2026-03-01T00:00:00Z","until":"2026-03-01T00:00:01Z"}`
	case "createGroupNote", "createJobNote", "createRunNote":
		return `{"text":"the release is out"}`
	case "setSecret":
		return `{"name":"PASSWORD","value":"long enough"}`
	case "patchJob":
		return `{"description":"changed"}`
	case "createGroup", "replaceGroup":
		return `{"app_name":"taken-over","title":"x"}`
	case "rotateAccessToken", "rotateGroupAccessToken":
		return `{"grace_hours":1}`
	case "approveScript", "rejectScript":
		return `{"version":"another"}`
	case "saveScript":
		return `{"script":"changed","script_remark":"changed it"}`
	case "tryScript":
		return `{"script":"changed","address":"http://orders:1/"}`
	case "setRotation":
		return `{"address":"http://orders:1/","disabled":true}`
	case "putCalendar":
		return `{"week":["mon"],"days":[]}`
	case "importCalendar":
		return `{"week":["mon"],"icalendar":"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20261001\nEND:VEVENT\nEND:VCALENDAR"}`
	case "createPause":
		return fmt.Sprintf(`{"scope":"group","target":%d,"strategy":"once","reason":"taken over","from":"2099-01-01T00:00:00Z"}`, o.group)
	case "previewSchedule":
		return `{"schedule":"CRON","cron":"0 0 2 * * ?"}`
	case "clearRuns":
		return fmt.Sprintf(`{"group_id":%d,"keep":"year"}`, o.group)
	case "createToken":
		return `{"name":"taken over","scope":["admin"]}`
	case "previewAlarmWords":
		return `{"subject":"taken over"}`
	case "createAlarmChannel":
		return `{"name":"taken over","kind":"webhook","url":"http://127.0.0.1:1/taken-over"}`
	case "createWebhook":
		return fmt.Sprintf(`{"name":"taken over %d","url":"http://127.0.0.1:1/taken-over","enabled":false}`, o.job)
	case "patchWebhook":
		return fmt.Sprintf(`{"name":"taken over by %d"}`, o.job)
	case "patchAlarmChannel":
		return `{"name":"taken over"}`
	case "createAlarmRoute", "replaceAlarmRoute":
		return `{"scope":"all"}`
	case "createUser":
		return fmt.Sprintf(`{"name":"taken%d","role":"admin"}`, o.job)
	case "patchUser":
		return `{"role":"admin"}`
	case "createTeam", "replaceTeam":
		return fmt.Sprintf(`{"name":"taken over %d","rights":[{"group_id":%d,"rights":["glue"]}]}`, o.job, o.group)
	case "patchSettings":
		return `{"audit_days":"31"}`
	case "patchGroup":
		return `{"title":"changed"}`
	}
	return ""
}

// apiOperation is an operation of the document.
type apiOperation struct{ id, method, path string }

// apiOperations are all that the served document has.
func apiOperations(t *testing.T, a *App) []apiOperation {
	t.Helper()
	got := (&caller{t: t, base: a.Welcome().URL}).do("GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal([]byte(got.body), &document); err != nil {
		t.Fatalf("%v: %.200s", err, got.body)
	}
	var list []apiOperation
	for path, item := range document.Paths {
		for method, o := range item {
			list = append(list, apiOperation{o.OperationID, strings.ToUpper(method), path})
		}
	}
	slices.SortFunc(list, func(x, y apiOperation) int { return strings.Compare(x.id, y.id) })
	return list
}

// at is an operation's path for things of a group.
func (op apiOperation) at(o objects) string {
	id := o.job
	switch {
	case strings.HasPrefix(op.path, "/groups/"):
		id = o.group
	case strings.HasPrefix(op.path, "/pauses/"):
		id = o.pause
	case strings.HasPrefix(op.path, "/notes/"):
		id = o.note
	case strings.HasPrefix(op.path, "/runs/"):
		id = o.run
	case strings.HasPrefix(op.path, "/users/"):
		id = o.user
	case strings.HasPrefix(op.path, "/teams/"):
		id = o.team
	case strings.HasPrefix(op.path, "/alarms/channels/"):
		id = o.channel
	case strings.HasPrefix(op.path, "/webhooks/"):
		id = o.webhook
	}
	return strings.NewReplacer("{backfill}", strconv.FormatInt(o.backfill, 10), "{route}", strconv.FormatInt(o.route, 10), "{delivery}", strconv.FormatInt(o.delivery, 10), "{id}", strconv.FormatInt(id, 10), "{version}", strconv.FormatInt(o.version, 10), "{name}", "cn").Replace(op.path)
}

// apiThings are things with an alarm channel of their group and a route to it.
func apiThings(t *testing.T, a *App, group int64, mark string) objects {
	t.Helper()
	o := things(t, a, group, mark)
	var err error
	o.channel, err = db.New().InsertAlarmChannel(t.Context(), a.pool, db.InsertAlarmChannelParams{Name: fmt.Sprintf("%s %d", mark, o.job), Kind: "webhook", Config: "{}", QuietMode: "queue", GroupID: group})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.New().SetSecret(t.Context(), a.pool, db.SetSecretParams{GroupID: group, Name: "CN"}); err != nil { // called as the calendar, for at
		t.Fatal(err)
	}
	if err := db.New().InsertScriptChange(t.Context(), a.pool, db.InsertScriptChangeParams{JobID: o.job, Author: mark, Source: mark, Remark: mark, MadeAt: 1}); err != nil {
		t.Fatal(err)
	}
	if o.route, err = db.New().InsertAlarmRoute(t.Context(), a.pool, db.InsertAlarmRouteParams{ChannelID: o.channel, Scope: "group", ScopeID: group}); err != nil {
		t.Fatal(err)
	}
	return o
}

// webhookThing is a webhook that is switched off, with a delivery that was given up.
func webhookThing(t *testing.T, a *App, name string) (id, delivery int64) {
	t.Helper()
	config, err := a.webhooks.Close(webhook.Settings{URL: "http://127.0.0.1:1/", Secret: webhook.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	if id, err = db.New().InsertWebhook(t.Context(), a.pool, db.InsertWebhookParams{Name: name, Config: config, State: string(webhook.Off)}); err != nil {
		t.Fatal(err)
	}
	if err := a.webhooks.WriteTo(t.Context(), a.pool, id, webhook.Event{Type: webhook.WebhookTest, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	rows, err := db.New().ListFreshDeliveries(t.Context(), a.pool, db.ListFreshDeliveriesParams{WebhookID: id, Limit: 1})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if err := db.New().EndDeliveries(t.Context(), a.pool, db.EndDeliveriesParams{State: webhook.GivenUp, Ids: []int64{rows[0].ID}}); err != nil {
		t.Fatal(err)
	}
	return id, rows[0].ID
}

// caller is a program with a token, or without.
type caller struct {
	t     *testing.T
	base  string
	token string
}

func (c *caller) do(method, path, body string, header ...string) answer {
	c.t.Helper()
	b := &browser{t: c.t, base: c.base, http: http.DefaultClient}
	if c.token != "" {
		header = append(header, "Authorization", "Bearer "+c.token)
	}
	if body != "" {
		header = append(header, "Content-Type", "application/json")
		return b.raw(method, "/api/v1"+path, strings.NewReader(body), header...)
	}
	return b.raw(method, "/api/v1"+path, nil, header...)
}

// match is the header without which an operation that replaces something is refused.
func (o apiOperation) match() []string {
	if o.method == http.MethodPut || o.id == "importCalendar" {
		return []string{"If-Match", "*"}
	}
	return nil
}

// begin asks for a stream and goes away at once.
func (c *caller) begin(path string) int {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/v1"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := undocumented(req, resp.StatusCode); err != nil {
		c.t.Errorf("GET %s: %v", path, err)
	}
	return resp.StatusCode
}

// json reads an answer's body, and wants its status.
func (c *caller) json(status int, into any, method, path, body string, header ...string) answer {
	c.t.Helper()
	got := c.do(method, path, body, header...)
	if got.status != status {
		c.t.Fatalf("%s %s: %d, want %d: %s", method, path, got.status, status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), into); err != nil {
		c.t.Fatalf("%s %s: %v: %s", method, path, err, got.body)
	}
	return got
}

// TestTheAPIRefusesWhatIsNotAllowed asks for every operation of API v1 without a token, with a session's cookie, and with tokens of each
// scope, for things of their group and of another. What is refused changes nothing and tells nothing; what is allowed is let through.
func TestTheAPIRefusesWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.apiLimit = api.Limit{Burst: 1 << 20, Every: time.Microsecond}
		a := start(t, o)
		root := open(t, a).mustLogin()
		for _, name := range []string{"orders", secret} {
			if got := root.post("/executors", url.Values{"app_name": {strings.ToLower(name)}, "title": {name}, "type": {"manual"}, "addresses": {"http://" + name + ":1/"}}); got.status != http.StatusSeeOther {
				t.Fatalf("create group: %d %s", got.status, got.body)
			}
		}
		operations := apiOperations(t, a)
		for _, op := range operations {
			if _, known := apiNeeds[op.id]; !known {
				t.Errorf("%s has no entry in apiNeeds: say who may call it", op.id)
			}
		}
		if len(operations) != len(apiNeeds) {
			t.Fatalf("%d operations, %d entries in apiNeeds", len(operations), len(apiNeeds))
		}
		own, foreign := apiThings(t, a, 1, "mine"), apiThings(t, a, 2, secret)

		before := contents(t, a)
		nobody := &caller{t: t, base: root.base}
		for _, op := range operations { // nobody, and a session: its cookie opens nothing here
			for name, got := range map[string]answer{
				"nobody":    nobody.do(op.method, op.at(own), apiBody(op.id, own)),
				"a session": root.raw(op.method, "/api/v1"+op.at(own), strings.NewReader(apiBody(op.id, own)), "Content-Type", "application/json"),
			} {
				if !apiNeeds[op.id].login {
					if got.status != http.StatusBadRequest { // without a body
						t.Errorf("%s, %s: %d %s", name, op.id, got.status, got.body)
					}
					continue
				}
				if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s, %s: %d %s", name, op.id, got.status, got.body)
				}
			}
		}
		nobody.token = auth.NewAPIToken()
		if got := nobody.do("GET", "/jobs", ""); got.status != http.StatusUnauthorized || !strings.Contains(got.body, "token.unknown") {
			t.Errorf("a token that is none: %d %s", got.status, got.body)
		}
		if after := contents(t, a); fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("requests without a token changed something:\n%v\n%v", before, after)
		}

		form := url.Values{"name": {"every"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}}
		for _, right := range auth.RightNames(auth.AllRights) {
			form.Add("right", "1."+right)
		}
		if got := root.post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		every := open(t, a)
		every.login("every", testPassword)
		type bearer struct {
			caller
			person
		}
		bearers := []bearer{{caller{t, root.base, makeToken(t, root, url.Values{"name": {"all"}, "scope": {"admin"}, "days": {"7"}})}, person{name: "admin", admin: true}}}
		for _, right := range auth.RightNames(auth.AllRights) {
			token := makeToken(t, every, url.Values{"name": {right}, "scope": {right}, "days": {"7"}})
			bearers = append(bearers, bearer{caller{t, root.base, token}, person{name: right, rights: auth.RightNamed(right).Normal()}})
		}
		if got := root.post("/users", url.Values{"name": {"auditor"}, "password": {testPassword}, "role": {"auditor"}, "state": {"active"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create auditor: %d %s", got.status, got.body)
		}
		auditor := open(t, a)
		auditor.login("auditor", testPassword)
		bearers = append(bearers, bearer{caller{t, root.base, makeToken(t, auditor, url.Values{"name": {"all"}, "scope": auth.RightNames(auth.AllRights), "days": {"7"}})}, person{name: "auditor", rights: auth.RightView, auditor: true}})
		for _, b := range bearers {
			before := contents(t, a)
			for _, op := range operations {
				for _, o := range []objects{own, foreign} {
					n := apiNeeds[op.id]
					if b.may(n, o == own) {
						continue
					}
					got := b.do(op.method, op.at(o), apiBody(op.id, o), op.match()...)
					if op.method == http.MethodGet {
						sameWithoutBody(t, b.name+", "+op.id, got, b.do(http.MethodHead, op.at(o), ""))
					}
					// What somebody may not see is as little there as what does not exist; a group they may not use is a fault of the field.
					ok := got.status == http.StatusForbidden || got.status == http.StatusNotFound && o == foreign || got.status == http.StatusUnprocessableEntity && op.id == "createJob"
					if !ok || got.header.Get("Content-Type") != "application/problem+json" || strings.Contains(got.body, secret) {
						t.Errorf("%s, %s for group %d: %d %s", b.name, op.id, o.group, got.status, got.body)
					}
				}
			}
			for table, after := range contents(t, a) {
				if before[table] != after {
					t.Errorf("%q was refused everything and has changed %s:\n%s\n%s", b.name, table, before[table], after)
				}
			}
			for _, op := range operations {
				if n := apiNeeds[op.id]; !b.may(n, true) {
					continue
				}
				o := apiThings(t, a, 1, "mine")
				if strings.HasSuffix(op.path, "/live") { // it does not end; what it tells is looked at in TestProgramsFollowRuns and TestProgramsFollowLists
					if status := b.begin(op.at(o)); status != http.StatusOK {
						t.Errorf("%s, %s: %d", b.name, op.id, status)
					}
					sameWithoutBody(t, b.name+", "+op.id, answer{status: http.StatusOK}, b.do(http.MethodHead, op.at(o), ""))
					continue
				}
				got := b.do(op.method, op.at(o), apiBody(op.id, o), op.match()...)
				if op.method == http.MethodGet {
					sameWithoutBody(t, b.name+", "+op.id, got, b.do(http.MethodHead, op.at(o), ""))
				}
				if (op.id == "revokeToken" || op.id == "getToken") && got.status == http.StatusNotFound {
					continue // which TestATokenRevokesItself gets right
				}
				if got.status == http.StatusNotFound && (strings.Contains(got.body, `"flow.none"`) || strings.Contains(got.body, `"flow.step"`)) {
					continue // told only to who may steer or read a run; TestAFlowIsSteeredByPrograms and TestItemsOfAStepAreRead have one of a flow
				}
				refused := got.status == http.StatusUnauthorized || got.status == http.StatusForbidden || got.status == http.StatusNotFound || got.status >= 500 && got.status != http.StatusBadGateway
				if refused || !b.admin && !b.auditor && strings.Contains(got.body, secret) {
					t.Errorf("%s, %s: %d %s", b.name, op.id, got.status, got.body)
				}
			}
		}
	})
}
