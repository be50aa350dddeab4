package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/login"
	"github.com/punctual-job/punctual/views/saved"
	"github.com/punctual-job/punctual/views/second"
	"github.com/punctual-job/punctual/views/tokens"
	"github.com/punctual-job/punctual/views/users"
)

// administered is what an administrator has set up in the demo: people, and channels for alarms.
type administered struct {
	viewer  *session // somebody who may look at one executor, and nothing else
	user    int64    // of an account
	channel int64    // one that carries alarms
	broken  int64    // one whose server refuses
	route   int64    // what leads to the first channel
	own     int64    // a group with a token of its own
	view    int64    // a filter of the job list that is kept
	team    int64    // somebody is in it
	careful *session // somebody with a second factor
	factor  string   // the page that removes it
	mina    *session // somebody who edits the jobs of a group
	revoke  string   // the page that revokes an API token
	hook    int64    // a webhook
}

const viewerPassword = "viewer-lamp-otter-1"

// demoSecret is the name of a secret of the group orders.
const demoSecret = "DB_PASSWORD"

// administer adds people and alarm channels to the demo.
func (d *demo) administer(t *testing.T, say func(zh, en string) string) {
	t.Helper()
	account := func(name, role, state string, rights ...string) int64 {
		d.must(t, link.UsersPath, url.Values{
			users.FieldName: {name}, users.FieldPassword: {viewerPassword}, users.FieldRole: {role}, users.FieldState: {state}, users.FieldRights: rights,
		})
		_, body := d.get(t, link.UsersPath+"?q="+name)
		return lastID(t, body, `id="user-(\d+)"`)
	}
	view := fmt.Sprintf("%d.view", d.orders)
	account("jonas", link.UserNormal, link.UserDisabled, view)
	account("watcher", link.UserNormal, link.UserActive, view)
	account("lovelace", link.UserAdmin, link.UserActive)
	d.user = account("mina", link.UserNormal, link.UserActive, view, fmt.Sprintf("%d.run", d.orders), fmt.Sprintf("%d.edit", d.orders), fmt.Sprintf("%d.view", d.own),
		fmt.Sprintf("%d.edit", d.payments), fmt.Sprintf("%d.glue", d.payments))
	d.mina = d.enterAs(t, "mina")
	d.must(t, link.TeamsPath, url.Values{users.FieldName: {say("夜间值班", "Night shift")}, users.FieldMembers: {fmt.Sprint(d.user)}, users.FieldRights: {fmt.Sprintf("%d.schedule", d.orders)}})
	_, teams := d.get(t, link.TeamsPath)
	d.team = lastID(t, teams, `id="team-(\d+)"`)
	d.viewer = d.enterAs(t, "watcher")
	account("careful", link.UserNormal, link.UserActive, view)
	d.careful = d.enterAs(t, "careful")
	d.factor = d.careful.addSecond(t, viewerPassword)

	// One channel is heard, the other's server says no to everything.
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":"unknown robot"}`)
		}
	}))
	t.Cleanup(hook.Close)
	channel := func(name, path string, change url.Values) int64 {
		form := url.Values{
			alarms.FieldKind: {"webhook"}, alarms.FieldName: {name}, alarms.FieldEnabled: {"1"}, alarms.FieldURL: {hook.URL + path}, alarms.FieldQuietMode: {"queue"},
		}
		maps.Copy(form, change)
		var id int64
		if _, err := fmt.Sscanf(d.must(t, link.AlarmsPath, form).Get("Location"), link.AlarmsPath+"/%d", &id); err != nil {
			t.Fatal(err)
		}
		// The answer is the page: a test is done at once.
		if code, body, _ := d.post(t, link.AlarmTest(id), url.Values{}); code != http.StatusOK && code != http.StatusSeeOther {
			t.Fatalf("test of channel %d: %d\n%s", id, code, body)
		}
		return id
	}
	d.channel = channel(say("值班群", "On call"), "/", url.Values{alarms.FieldEveryJob: {"1"}, alarms.FieldQuietFrom: {"23:00"}, alarms.FieldQuietTo: {"07:00"}})
	d.broken = channel(say("旧系统", "Old system"), "/refuse", nil)
	d.must(t, link.AlarmRoutes(d.channel), url.Values{alarms.FieldScope: {"group"}, alarms.FieldGroup: {fmt.Sprint(d.orders)}, alarms.FieldCause: {"failed", "timeout"}})
	d.must(t, link.JobRun(d.nowhere), url.Values{})
	eventually(t, "message of a single failure", func() error {
		if _, body := d.get(t, link.AlarmMessages); strings.Contains(body, link.Job(d.nowhere)) {
			return nil
		}
		return errNotYet
	})
	_, body := d.get(t, link.Alarm(d.channel))
	d.route = lastID(t, body, `id="route-(\d+)"`)
	d.must(t, link.JobGlue(d.script), url.Values{
		glue.FieldSource: {"#!/bin/bash\nset -euo pipefail\n\nfor channel in alipay wechat; do\n  echo \"$channel: checked\"\ndone\n"}, glue.FieldRemark: {say("只对账两个渠道", "Two channels only")},
	})
	d.keep(t, say)
	d.must(t, link.TokenRotate(d.own), url.Values{"grace": {"24"}})
	d.must(t, link.ViewsPath, url.Values{saved.FieldPage: {"jobs"}, saved.FieldParams: {"state=stopped"}, saved.FieldName: {say("已停止的任务", "Stopped jobs")}, saved.FieldShared: {"1"}})
	_, body = d.get(t, link.JobsPath+"?state=stopped")
	d.view = lastID(t, body, link.ViewsPath+`/(\d+)/edit`)
}

// keep adds what is kept from most people: secrets, API tokens, and a script that waits for a second person.
func (d *demo) keep(t *testing.T, say func(zh, en string) string) {
	t.Helper()
	d.must(t, link.ExecutorSecrets(d.orders), url.Values{groups.FieldSecretName: {demoSecret}, groups.FieldSecretValue: {"correct horse battery"}})
	for name, days := range map[string]string{say("发布流水线", "Release pipeline"): "90", say("巡检脚本", "Patrol"): "0"} {
		if code, body, _ := d.post(t, link.TokensPath, url.Values{
			tokens.FieldName: {name}, tokens.FieldDays: {days}, tokens.FieldScope: {"view", "run"}, tokens.FieldGroups: {fmt.Sprint(d.orders)},
		}); code != http.StatusOK {
			t.Fatalf("a token: %d\n%s", code, body)
		}
	}
	d.must(t, link.ServiceAccounts, url.Values{tokens.FieldName: {"deploybot"}})
	_, list := d.get(t, link.TokensAll)
	d.revoke = fmt.Sprintf("/tokens/%d/revoke?of=all", lastID(t, list, `/tokens/(\d+)/revoke`))
	form := d.form(t, link.ExecutorEdit(d.payments), link.Executor(d.payments))
	form.Set(groups.FieldScriptReview, groups.ScriptReviewOn)
	d.must(t, link.Executor(d.payments), form)
	d.mina.must(t, link.JobGlue(d.script), url.Values{
		glue.FieldSource: {"#!/bin/bash\nset -euo pipefail\n\nfor channel in alipay wechat unionpay; do\n  echo \"$channel: checked\"\n  curl -fsS \"https://ledger.example.com/$channel?day=$1\"\ndone\n"},
		glue.FieldRemark: {say("接入总账", "Ask the ledger")},
	})
	if code, body, _ := d.post(t, link.WebhooksPath, url.Values{"name": {say("持续集成", "CI")}, "url": {"http://127.0.0.1:1/"}, "types": {"punctual.job.updated"}}); code != http.StatusOK {
		t.Fatalf("a webhook: %d\n%s", code, body)
	}
	_, list = d.get(t, link.WebhooksPath)
	d.hook = lastID(t, list, link.WebhooksPath+`/(\d+)"`)
	d.addSecond(t, testPassword) // or this session would end
	d.must(t, link.SettingsPath, url.Values{"alarm_editors": {"on"}, "second_factor": {"admins"}})
}

// addSecond gives somebody an app with codes, and returns the page that removes it.
func (s *session) addSecond(t *testing.T, password string) string {
	t.Helper()
	_, form := s.get(t, link.SecondCode)
	find := func(pattern, text string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no %s in\n%s", pattern, text)
		}
		return found[1]
	}
	secret := strings.ReplaceAll(find(`class="secret-text"[^>]*>([A-Z2-7 ]+)<`, form), " ", "")
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if code, body, _ := s.post(t, link.SecondCode, url.Values{
		second.FieldToken: {find(`name="token" value="([^"]+)"`, form)}, second.FieldCode: {code}, second.FieldName: {"phone"}, second.FieldPassword: {password},
	}); code != http.StatusOK {
		t.Fatalf("a second factor: %d\n%s", code, body)
	}
	_, list := s.get(t, link.SecondPath)
	return find(`href="(/profile/second/\d+/remove)"`, list)
}

// enterAs opens a session of somebody else than the administrator.
func (d *demo) enterAs(t *testing.T, name string) *session {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{url: d.admin.url}
	s.Jar, s.CheckRedirect = jar, d.CheckRedirect
	s.must(t, link.Login, url.Values{login.FieldName: {name}, login.FieldPassword: {viewerPassword}})
	return s
}

// adminPages are the pages of what was administered.
func (d *demo) adminPages(t *testing.T) []demoPage {
	t.Helper()
	_, entries := d.get(t, link.AuditPath)
	_, failed := d.get(t, link.AuditPath+"?kind=user")
	_, script := d.get(t, link.JobGlue(d.script))
	return []demoPage{
		{name: "settings", path: link.SettingsPath},
		{name: "help", path: link.HelpPath},
		{name: "docs", path: link.DocsPath},
		{name: "docs-found", path: link.DocsPath + "?q=token"},
		{name: "docs-page", path: link.Doc("operations", "")},
		{name: "jobs-import", path: link.JobsImportPath},
		{name: "jobs-import-plan", path: link.JobsImportPath, do: filled(".form-foot .primary", "#text", d.importFile()), until: ".import-plan"},
		{name: "jobs-crontab", path: link.JobsCrontabPath},
		{name: "jobs-crontab-file", path: link.JobsCrontabPath, do: filled(".form-foot .primary", "#text", "MAILTO=ops\n# Rotate the logs\n0 4 * * 1-5 /usr/sbin/logrotate /etc/logrotate.conf\n@reboot x\n"), until: ".import-faults"},
		{name: "jobs-export", path: link.JobsExportPath},
		{name: "view-new", path: link.ViewNew("jobs", "q=shop")},
		{name: "jobs-view", path: link.JobsPath + "?state=stopped"},
		{name: "view-edit", path: link.ViewEdit(d.view)},
		{name: "glue-compare", path: link.JobGlueVersion(d.script, lastID(t, script, `/glue/versions/(\d+)"`))},
		{name: "executor-own", path: link.ExecutorShowing(d.own)},
		{name: "token-rotate", path: link.TokenRotate(d.own)},
		{name: "token-drop", path: link.TokenDrop(d.own)},
		{name: "token-rotate-common", path: link.TokenRotate(0)},
		{name: "alarms-open", path: link.AlarmsOpenPath},
		{name: "alarms-ack-all", path: link.AlarmsAck},
		{name: "alarm-open", path: link.AlarmOpen(d.fails)},
		{name: "webhooks", path: link.WebhooksPath},
		{name: "webhook-new", path: link.WebhookNewPath},
		{name: "webhook", path: link.Webhook(d.hook, "", 0)},
		{name: "webhook-edit", path: link.WebhookDeed(d.hook, "edit")},
		{name: "webhook-delete", path: link.WebhookDeed(d.hook, "delete")},
		{name: "calendar-delete", path: link.CalendarDelete("cn")},
		{name: "alarms", path: link.AlarmsPath},
		{name: "alarm-new", path: link.AlarmNewPath},
		{name: "alarm-webhook", path: link.AlarmNewFor("webhook", 0)},
		{name: "alarm-of-editor", path: link.AlarmNewFor("webhook", 0), as: d.mina},
		{name: "alarm", path: link.Alarm(d.channel)},
		{name: "alarm-broken", path: link.Alarm(d.broken)},
		{name: "alarm-edit", path: link.AlarmEdit(d.channel)},
		{name: "alarm-delete", path: link.AlarmDelete(d.channel)},
		{name: "alarm-route-new", path: link.AlarmRouteNew(d.channel)},
		{name: "alarm-route", path: link.AlarmRouteEdit(d.channel, d.route)},
		{name: "alarm-messages", path: link.AlarmMessages},
		{name: "users", path: link.UsersPath},
		{name: "user-new", path: link.UserNewPath},
		{name: "user-like", path: link.UserNewPath, do: filled("[name=do][value=like]", "[name=like]", fmt.Sprint(d.user)), until: ".notice.info"},
		{name: "user-edit", path: link.UserEdit(d.user)},
		{name: "user-password", path: link.UserPassword(d.user)},
		{name: "user-signout", path: link.UserSignOut(d.user)},
		{name: "user-delete", path: link.UserDelete(d.user)},
		{name: "teams", path: link.TeamsPath},
		{name: "calendars", path: link.CalendarsPath},
		{name: "calendar", path: link.Calendar("cn", 2026)},
		{name: "team-new", path: link.TeamNewPath},
		{name: "team-edit", path: link.TeamEdit(d.team)},
		{name: "team-delete", path: link.TeamDelete(d.team)},
		{name: "user-second", path: link.UserSecond(d.user)},
		{name: "second-none", path: link.SecondPath, as: d.viewer},
		{name: "second-passkey", path: link.SecondPasskey, as: d.viewer},
		{name: "second-code", path: link.SecondCode, as: d.viewer},
		{name: "second", path: link.SecondPath, as: d.careful},
		{name: "second-recovery", path: link.SecondRecovery, as: d.careful},
		{name: "second-codes", path: link.SecondRecovery, as: d.careful, do: filled(".panel .primary", "[name=old_password]", viewerPassword), until: ".recovery-codes"},
		{name: "second-remove", path: d.factor, as: d.careful},
		{name: "login-second", path: link.LoginSecond, as: d.enterAs(t, "careful")},
		{name: "login-setup", path: link.LoginSetup, as: d.enterAs(t, "lovelace")},
		{name: "glue-waiting", path: link.JobGlueWaiting(d.script)},
		{name: "glue-waiting-own", path: link.JobGlueWaiting(d.script), as: d.mina},
		{name: "audit", path: link.AuditPath},
		{name: "audit-entry", path: link.AuditEntry(lastID(t, entries, `/audit/(\d+)"`))},
		{name: "audit-user", path: link.AuditEntry(lastID(t, failed, `/audit/(\d+)"`))},
		{name: "palette", path: link.PalettePath + "?q=1"},
		{name: "jobs-bulk", path: fmt.Sprintf("%s?do=stop&id=%d&id=%d", link.JobsBulk, d.script, d.slow)},
		{name: "jobs-bulk-tag", path: fmt.Sprintf("%s?do=tag&id=%d&id=%d", link.JobsBulk, d.script, d.slow)},
		{name: "not-found", path: "/nowhere", status: http.StatusNotFound},
		{name: "forbidden", path: link.UsersPath, as: d.viewer, status: http.StatusForbidden},
		{name: "viewer-jobs", path: link.JobsPath, as: d.viewer},
		{name: "viewer-profile", path: link.ProfilePath, as: d.viewer},
	}
}
