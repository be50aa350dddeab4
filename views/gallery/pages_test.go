package gallery

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/accounts"
	"github.com/punctual-job/punctual/views/adoption"
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/audit"
	"github.com/punctual-job/punctual/views/backfills"
	"github.com/punctual-job/punctual/views/calendars"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/errorpage"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/help"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/login"
	"github.com/punctual-job/punctual/views/manual"
	"github.com/punctual-job/punctual/views/nodes"
	"github.com/punctual-job/punctual/views/notes"
	"github.com/punctual-job/punctual/views/palette"
	"github.com/punctual-job/punctual/views/pauses"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/saved"
	"github.com/punctual-job/punctual/views/settings"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/tokens"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
	"github.com/punctual-job/punctual/views/webhooks"
)

// page is one page of the gallery, under the path it is served at.
type page struct {
	name      string
	path      string
	component templ.Component
}

// fakes invents data in one language. now is fixed by tests that compare, and real for photographs, whose relative
// times the browser refreshes.
type fakes struct {
	*locales.Printer
	theme layout.Theme
	now   time.Time
	names func(english string) string // what people call things here; nil: as nice as can be
}

func (f fakes) zh(chinese, english string) string {
	if f.names != nil {
		return f.names(english)
	}
	if f.Lang() == locales.Chinese {
		return chinese
	}
	return english
}

func (f fakes) at(d time.Duration) format.Time { return format.At(f.Printer, f.now.Add(d), f.now) }

func (f fakes) page(path string, flashes ...layout.Flash) layout.Page {
	return layout.Page{
		Printer: f.Printer, Theme: f.theme, Path: path, User: layout.User{Name: "admin", Admin: true},
		Flashes: flashes, Version: "0.1.0", Zone: "Asia/Shanghai", Home: "Asia/Shanghai", Zones: []string{"Asia/Shanghai", "America/Los_Angeles"},
	}
}

func (f fakes) pages() []page {
	return append(append(append(append(f.statePages(), f.jobPages()...), f.secondPages()...), f.flowPages()...), []page{
		{"login", "/login", login.Form(f.login(""))},
		{"login-ways", "/login?ways", login.Form(f.loginWays(false))},
		{"login-closed", "/login?closed", login.Form(f.loginWays(true))},
		{"login-given", "/login/password", login.Password(f.loginStep())},
		{"login-failed", "/login?failed", login.Form(f.login(f.zh("账号或密码错误。", "Wrong user name or password.")))},
		{"dashboard", "/", dashboard.Whole(f.dashboard(true))},
		{"dashboard-calm", "/?calm", dashboard.Whole(f.dashboard(false))},
		{"dashboard-paused", "/?paused", dashboard.Whole(f.dashboardPaused())},
		{"wall", "/wall", dashboard.Wall(f.wall(true))},
		{"wall-calm", "/wall?calm", dashboard.Wall(f.wall(false))},
		{"dashboard-new", "/?new", dashboard.Whole(f.dashboardNew())},
		{"jobs", "/jobs", jobs.List(f.jobs())},
		{"jobs-menu", "/jobs?menu", jobs.List(f.jobs())},
		{"jobs-picked", "/jobs?picked", jobs.List(f.jobs())},
		{"jobs-look", "/jobs?look", jobs.List(f.jobs())},
		{"jobs-sorted", "/jobs?sort=name", jobs.List(f.jobsSorted())},
		{"jobs-none", "/jobs?q=zzz", jobs.List(jobs.ListPage{Page: f.page("/jobs?q=zzz"), Filter: link.JobFilter{Text: "zzz"}, Groups: f.groupOptions(0), AnyJobs: true, CanCreate: true})},
		{"jobs-empty", "/jobs?empty", jobs.List(jobs.ListPage{Page: f.page("/jobs"), CanCreate: true})},
		{"job-new", "/jobs/new", jobs.Form(f.jobForm())},
		{"job-edit", "/jobs/7/edit", jobs.Form(f.jobEdit())},
		{"job-curl", "/jobs/new/curl", jobs.Form(f.jobCurl())},
		{"job-invalid", "/jobs/new?invalid", jobs.Form(f.jobInvalid())},
		{"job-conflict", "/jobs/15/edit?conflict", jobs.Form(f.jobConflict())},
		{"job-account", "/jobs/7/account", accounts.Job(f.account(true))},
		{"job-account-whole", "/jobs/7/account?range=1h", accounts.Job(f.account(false))},
		{"job-run", "/jobs/7/run", jobs.RunOnce(f.runOnce())},
		{"job-run-fields", "/jobs/7/run", jobs.RunOnce(f.runOnceAsked())},
		{"job-delete", "/jobs/7/delete", jobs.Delete(jobs.DeletePage{Page: f.page("/jobs/7/delete"), ID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Running: true, Runs: 12408, Uses: []string{f.zh("“日终批处理”将它设为子任务。", "“End of day” starts it as a child job."), f.zh("工作流“夜间结算”有步骤运行此任务，删除后该步骤会失败。", "A step of the flow “Nightly settlement” runs it, and fails without it.")}})},
		{"job-chain", "/jobs/7/chain", jobs.Chain(f.chain(""))},
		{"job-chain-none", "/jobs/7/chain?none", jobs.Chain(f.chain(f.T("problem.chain.parents", "Count", 2, "N", "2")))},
		{"glue", "/jobs/15/glue", glue.Edit(f.glue())},
		{"glue-reviewed", "/jobs/15/glue?reviewed", glue.Edit(f.glueReviewed())},
		{"glue-conflict", "/jobs/15/glue?conflict", glue.Edit(f.glueConflict())},
		{"glue-compare", "/jobs/15/glue/versions/3", glue.Compare(f.glueCompare())},
		{"jobs-bulk", "/jobs/bulk?do=start", jobs.Bulk(f.bulk("start"))},
		{"jobs-bulk-spread", "/jobs/bulk?do=spread", jobs.Bulk(f.bulkSpread())},
		{"jobs-bulk-pause", "/jobs/bulk?do=pause", jobs.Bulk(f.bulkPause())},
		{"jobs-bulk-edit", "/jobs/bulk?do=edit", jobs.Bulk(f.bulkEdit())},
		{"jobs-bulk-tag", "/jobs/bulk?do=tag", jobs.Bulk(f.bulk("tag"))},
		{"jobs-bulk-all", "/jobs/bulk?do=stop&all=1", jobs.Bulk(f.bulkAll("stop", 0))},
		{"runs-rerun", "/runs/rerun", jobs.Bulk(f.rerun())},
		{"runs-kill", "/runs/kill", jobs.Bulk(f.killMany())},
		{"runs-rerun-done", "/runs/rerun", jobs.BulkDone(f.rerunDone())},
		{"jobs-bulk-goes-on", "/jobs/bulk", jobs.BulkGoesOn(f.bulkAll("stop", 309))},
		{"jobs-bulk-done", "/jobs/bulk", jobs.BulkDone(f.bulk("stop"))},
		{"jobs-export", "/jobs/export", jobs.Export(f.export())},
		{"jobs-export-none", "/jobs/export?q=zzz", jobs.Export(jobs.ExportPage{Page: f.page("/jobs/export"), Problem: f.T("problem.export.none")})},
		{"jobs-import", "/jobs/import", jobs.Import(f.importFile())},
		{"jobs-import-broken", "/jobs/import?broken", jobs.Import(f.importBroken())},
		{"jobs-import-plan", "/jobs/import?plan", jobs.Import(f.importPlan())},
		{"jobs-import-missing", "/jobs/import?missing", jobs.Import(f.importMissing())},
		{"jobs-import-done", "/jobs/import?done", jobs.Import(f.importDone())},
		{"palette", "/palette?q=order", palette.Palette(f.palette())},
		{"palette-none", "/palette?q=zzz", palette.Palette(palette.Page{Page: f.page("/palette?q=zzz"), Text: "zzz"})},
		{"keys", "/keys", palette.Keys(f.page("/keys"))},
		{"runs", "/runs", runs.List(f.runs())},
		{"runs-sorted", "/runs?sort=-duration", runs.List(f.runsSorted())},
		{"runs-empty", "/runs?empty", runs.List(runs.ListPage{Page: f.page("/runs"), Groups: f.groupOptions(0), Live: true})},
		{"runs-further", "/runs?further", runs.List(f.runsFurther(3))},
		{"runs-further-none", "/runs?further&none", runs.List(f.runsFurther(0))},
		{"runs-clear", "/runs/clear", runs.Clear(f.clear())},
		{"runs-clear-empty", "/runs/clear?empty", runs.Clear(f.clearEmpty())},
		{"run-live", "/runs/90431", runs.Detail(f.runLive())},
		{"run-failed", "/runs/90417", runs.Detail(f.runFailed())},
		{"run-unsent", "/runs/90399", runs.Detail(f.runUnsent())},
		{"run-kill", "/runs/90431/kill", runs.Kill(runs.KillPage{Page: f.page("/runs/90431/kill"), Row: f.runLive().Timeline.Row, Beside: 2, Scopes: f.killScopes()})},
		{"executors", "/executors", groups.List(f.groups())},
		{"executors-empty", "/executors?empty", groups.List(groups.ListPage{Page: f.page("/executors"), CanEdit: true})},
		{"executor", "/executors/3", groups.Detail(f.groupDetail())},
		{"executor-lost", "/executors/4", groups.Detail(f.groupLost())},
		{"executors-none", "/executors?q=zzz", groups.List(groups.ListPage{Page: f.page("/executors?q=zzz"), Filter: link.GroupFilter{Text: "zzz"}, CanEdit: true, AnyGroups: true})},
		{"executor-token", "/executors/token", groups.Token(groups.TokenPage{Page: f.page("/executors/token"), Token: groups.TokenCard{None: true}, Connect: groups.Connect{AdminURL: "http://10.1.0.11:8080", AppName: "my-service"}})},
		{"executor-token-shown", "/executors/token?shown", groups.Token(f.tokenShown())},
		{"executor-token-common", "/executors/token/rotate", groups.Rotate(groups.RotatePage{Page: f.page("/executors/token/rotate"), Grace: groups.GraceDefault})},
		{"executor-token-rotate", "/executors/3/token/rotate", groups.Rotate(groups.RotatePage{Page: f.page("/executors/3/token/rotate"), GroupID: 3, Title: f.zh("报表中心", "Reporting"), Grace: groups.GraceDefault})},
		{"executor-token-drop", "/executors/3/token/drop", groups.Drop(groups.RotatePage{Page: f.page("/executors/3/token/drop"), GroupID: 3, Title: f.zh("报表中心", "Reporting")})},
		{"executor-new", "/executors/new", groups.Form(groups.FormPage{Page: f.page("/executors/new"), Values: groups.FormValues{Type: groups.TypeAuto, Idle: groups.IdleWait, MaxRunning: "0"}})},
		{"executor-edit", "/executors/2/edit", groups.Form(f.groupEdit())},
		{"executor-invalid", "/executors/new?invalid", groups.Form(f.groupInvalid())},
		{"executor-delete-free", "/executors/4/delete", groups.Delete(groups.DeletePage{Page: f.page("/executors/4/delete"), ID: 4, Title: f.zh("旧账务系统", "Legacy billing"), AppName: "legacy-billing"})},
		{"executor-delete-last", "/executors/4/delete?last", groups.Delete(groups.DeletePage{Page: f.page("/executors/4/delete"), ID: 4, Title: f.zh("旧账务系统", "Legacy billing"), AppName: "legacy-billing", Last: true})},
		{"executor-delete", "/executors/2/delete", groups.Delete(groups.DeletePage{Page: f.page("/executors/2/delete"), ID: 2, Title: f.zh("订单服务", "Orders"), AppName: "order-service", Jobs: 12})},
		{"secrets", "/executors/1/secrets", groups.Secrets(f.secrets())},
		{"lineage", "/executors/1/lineage", groups.Lineage(f.lineage())},
		{"lineage-none", "/executors/1/lineage?none", groups.Lineage(groups.LineagePage{Page: f.page("/executors/1/lineage"), ID: 1, Title: f.zh("订单服务", "Orders")})},
		{"secrets-nokey", "/executors/1/secrets?nokey", groups.Secrets(groups.SecretsPage{Page: f.page("/executors/1/secrets"), ID: 1, Title: f.zh("订单服务", "Orders"), CanSet: true, NoKey: true})},
		{"secret-delete", "/executors/1/secrets/delete", groups.SecretDelete(groups.SecretDeletePage{Page: f.page("/executors/1/secrets/delete"), ID: 1, Name: "DB_PASSWORD"})},
		{"glue-waiting", "/jobs/7/glue/waiting", glue.Waiting(f.glueWaiting(true))},
		{"glue-waiting-own", "/jobs/7/glue/waiting?own", glue.Waiting(f.glueWaiting(false))},
		{"alarms-open", "/alarms/open", alarms.OpenList(f.openAlarms())},
		{"alarms-open-none", "/alarms/open?none", alarms.OpenList(alarms.OpenPage{Page: f.page("/alarms/open?none")})},
		{"alarm-ack-all", "/alarms/open/ack", alarms.AcknowledgeAll(f.ackAll())},
		{"alarm-ack", "/alarms/open/7", alarms.Acknowledge(f.ackForm(false))},
		{"alarm-acked", "/alarms/open/8", alarms.Acknowledge(f.ackForm(true))},
		{"note-job", "/jobs/7/note", notes.Form(f.noteForm())},
		{"note-run", "/runs/90417/note", notes.Form(notes.FormPage{Page: f.page("/runs/90417/note"), Name: "#90417", Action: "/runs/90417/note", Back: "/runs/90417", Max: 500, May: true, Errors: map[string]string{notes.FieldText: f.T("problem.note.empty")}})},
		{"alarm-link", "/alarms/link/1.x", alarms.Linked(f.alarmLink("open"))},
		{"alarm-link-acked", "/alarms/link/1.x?acked", alarms.Linked(f.alarmLink("acked"))},
		{"alarm-link-over", "/alarms/link/1.x?over", alarms.Linked(f.alarmLink("over"))},
		{"alarms", "/alarms", alarms.List(f.alarms())},
		{"alarms-empty", "/alarms?empty", alarms.List(alarms.ListPage{Page: f.page("/alarms")})},
		{"alarm", "/alarms/1", alarms.Detail(f.alarm())},
		{"alarm-new-channel", "/alarms/3", alarms.Detail(alarms.DetailPage{Page: f.page("/alarms/3"), Channel: f.alarmChannels()[2]})},
		{"alarm-broken", "/alarms/2?broken", alarms.Detail(alarms.DetailPage{Page: f.page("/alarms/2"), Channel: f.alarmChannels()[1]})},
		{"alarm-mail-tested", "/alarms/1?tested", alarms.Detail(f.alarmMailTested())},
		{"alarm-tested", "/alarms/2", alarms.Detail(f.alarmTested())},
		{"alarm-new", "/alarms/new", alarms.Form(f.alarmForm("mail"))},
		{"alarm-new-editor", "/alarms/new?kind=wecom", alarms.Form(f.alarmFormOfEditor())},
		{"alarm-of-group", "/alarms/4", alarms.Detail(f.alarmOfGroup())},
		{"alarm-for-job", "/alarms/new?job=7&kind=dingtalk", alarms.Form(f.alarmForJob())},
		{"alarm-dingtalk", "/alarms/new?kind=dingtalk", alarms.Form(f.alarmForm("dingtalk"))},
		{"alarm-wecom", "/alarms/new?kind=wecom", alarms.Form(f.alarmForm("wecom"))},
		{"alarm-feishu", "/alarms/new?kind=feishu", alarms.Form(f.alarmForm("feishu"))},
		{"alarm-slack", "/alarms/new?kind=slack", alarms.Form(f.alarmForm("slack"))},
		{"alarm-mail-invalid", "/alarms/new?invalid", alarms.Form(f.alarmMailInvalid())},
		{"alarm-webhook-invalid", "/alarms/new?kind=webhook&invalid", alarms.Form(f.alarmWebhookInvalid())},
		{"alarm-mail-edit", "/alarms/1/edit", alarms.Form(f.alarmMailEdit())},
		{"alarm-telegram", "/alarms/new?kind=telegram", alarms.Form(f.alarmForm("telegram"))},
		{"alarm-pagerduty", "/alarms/new?kind=pagerduty", alarms.Form(f.alarmForm("pagerduty"))},
		{"alarm-webhook", "/alarms/new?kind=webhook", alarms.Form(f.alarmForm("webhook"))},
		{"alarm-edit", "/alarms/2/edit", alarms.Form(f.alarmEdit())},
		{"alarm-words", "/alarms/2/edit?words", alarms.Form(f.alarmWords())},
		{"alarm-words-invalid", "/alarms/2/edit?words&invalid", alarms.Form(f.alarmWordsWrong())},
		{"alarm-delete", "/alarms/2/delete", alarms.Delete(alarms.DeletePage{Page: f.page("/alarms/2/delete"), ID: 2, Name: f.zh("值班群", "On call"), Routes: 2})},
		{"alarm-route", "/alarms/2/routes/new", alarms.RouteForm(f.alarmRoute())},
		{"alarm-route-new", "/alarms/2/routes/new?new", alarms.RouteForm(f.alarmRouteNew())},
		{"alarm-route-picked", "/alarms/2/routes/new?job=8", alarms.RouteForm(f.alarmRoutePicked())},
		{"alarm-route-job", "/alarms/2/routes/5/edit", alarms.RouteForm(f.alarmRouteJob())},
		{"alarm-messages-empty", "/alarms/messages?empty", alarms.Messages(alarms.MessagesPage{Page: f.page("/alarms/messages")})},
		{"alarm-messages", "/alarms/messages", alarms.Messages(alarms.MessagesPage{Page: f.page("/alarms/messages"), Channels: []ui.Option{{Value: "2", Label: f.zh("值班群", "On call")}}, Rows: f.alarmMessages(), Pager: ui.Pager{Next: "/alarms/messages?before=3"}})},
		{"alarm-messages-none", "/alarms/messages?none", alarms.Messages(alarms.MessagesPage{Page: f.page("/alarms/messages?state=sent"), Filter: link.MessageFilter{State: "sent"}})},
		{"nodes", "/nodes", nodes.List(f.nodes())},
		{"nodes-held", "/nodes?held", nodes.List(f.nodesHeld())},
		{"adoption", "/adoption", adoption.Show(f.adoption())},
		{"adoption-beside", "/adoption", adoption.Show(f.adoptionBeside())},
		{"adoption-finished", "/adoption", adoption.Show(f.adoptionFinished())},
		{"nodes-idle", "/nodes?idle", nodes.List(f.nodesIdle())},
		{"nodes-unwell", "/nodes?unwell", nodes.List(f.nodesUnwell())},
		{"users", "/users", users.List(f.users())},
		{"user-edit", "/users/3/edit", users.Form(f.userEdit())},
		{"user-provider", "/users/4/edit", users.Form(f.userOfProvider())},
		{"user-new", "/users/new", users.Form(users.FormPage{Rights: rights, Page: f.page("/users/new"), Groups: f.userEdit().Groups, Errors: map[string]string{users.FieldName: f.T("user.error.name")}, Values: users.FormValues{Name: "Ann", Role: link.UserNormal}})},
		{"user-password", "/users/3/password", users.Password(users.PasswordPage{Page: f.page("/users/3/password"), ID: 3, Name: "jonas"})},
		{"user-made", "/users/3/made", users.Made(users.MadePage{Page: f.page("/users/3/password"), Name: "jonas", Password: "k7q2mzr5x3h4vw6ytn5dcbplea"})},
		{"user-signout", "/users/3/signout", users.SignOut(users.AskPage{Page: f.page("/users/3/signout"), ID: 3, Name: "jonas", Sessions: 2})},
		{"user-delete", "/users/3/delete", users.Delete(users.DeletePage{Page: f.page("/users/3/delete"), ID: 3, Name: "jonas", Jobs: 3, Changes: 1, Tokens: 2})},
		{"profile", "/profile", users.Profile(f.profile())},
		{"user-many", "/users/3/edit", users.Form(f.userOfMany())},
		{"timeline", "/timeline", timeline.Whole(f.timelinePage())},
		{"timeline-executors", "/timeline?by=executors", timeline.Whole(f.timelineOfExecutors())},
		{"timeline-none", "/timeline?none", timeline.Whole(timeline.Page{Page: f.page("/timeline"), Grid: timeline.Grid{Now: -1}})},
		{"timeline-wrong", "/timeline?wrong", timeline.Whole(timeline.Page{Page: f.page("/timeline"), Grid: timeline.Grid{Now: -1}, Filter: link.TimelineFilter{Range: link.RangeCustom, From: "2026-03-04T02:00", To: "2026-03-04T01:00"}, Wrong: f.T("problem.timeline.order")})},
		{"forecast", "/forecast", dashboard.Forecast(f.forecastPage())},
		{"forecast-none", "/forecast?none", dashboard.Forecast(dashboard.ForecastPage{Page: f.page("/forecast"), Days: "14", None: true, From: "2026-03-04T02:00", Until: "2026-03-04T03:00"})},
		{"output-search", "/runs/search", runs.Search(f.searchPage())},
		{"output-search-begin", "/runs/search?begin", runs.Search(runs.SearchPage{Page: f.page("/runs/search"), Groups: f.searchedGroups()})},
		{"output-search-none", "/runs/search?none", runs.Search(runs.SearchPage{Page: f.page("/runs/search"), Groups: f.searchedGroups(), Asked: true, Filter: link.OutputSearch{RunFilter: link.RunFilter{Text: "timeout", Group: 1}}, Progress: f.T("search.done", "Count", 0, "Hits", "0", "Runs", "12,001", "Size", "1.2 GiB")})},
		{"output-search-wrong", "/runs/search?wrong", runs.Search(runs.SearchPage{Page: f.page("/runs/search"), Groups: f.searchedGroups(), Asked: true, Filter: link.OutputSearch{RunFilter: link.RunFilter{Text: "timeout"}}, Errors: map[string]string{runs.FieldSearchGroup: f.T("search.error.group")}})},
		{"output-search-off", "/runs/search?off", runs.Search(runs.SearchPage{Page: f.page("/runs/search"), Off: true})},
		{"slowest", "/jobs/slowest", jobs.Slowest(jobs.SlowPage{Page: f.page("/jobs/slowest"), Filter: link.SlowFrom(nil), Days: 7, Usage: f.usage(), Rows: []jobs.SlowRow{
			{ID: 7, Name: f.zh("每日对账", "Reconcile the day"), Group: f.zh("支付网关", "Payments"), Longest: f.Duration(73 * time.Minute), LongestRun: 4711, Average: f.Duration(41 * time.Minute), Grown: "×2.4", Slower: true, Total: f.Duration(287 * time.Minute), Runs: "7"},
			{ID: 8, Name: f.zh("库存快照", "Stock snapshot of every warehouse in the country"), Group: f.zh("库存", "Stock"), Longest: f.Duration(95 * time.Second), LongestRun: 4712, Average: f.Duration(3200 * time.Millisecond), Grown: "×0.9", Total: f.Duration(90 * time.Minute), Runs: "1,687"},
			{ID: 9, Name: f.zh("发送账单", "Send invoices"), Group: f.zh("支付网关", "Payments"), Longest: f.Duration(1400 * time.Millisecond), LongestRun: 4713, Average: f.Duration(1400 * time.Millisecond), Total: f.Duration(1400 * time.Millisecond), Runs: "1"},
		}})},
		{"slowest-none", "/jobs/slowest?by=slower", jobs.Slowest(jobs.SlowPage{Page: f.page("/jobs/slowest"), Filter: link.SlowFilter{By: link.SlowGrown, Days: 30}, Days: 7, Usage: jobs.Usage{From: "2026-02-03", Until: "2026-03-04", Kept: "2025-11-25", Days: 100}})},
		{"calendars", "/calendars", calendars.List(calendars.ListPage{Page: f.page("/calendars"), Form: new(calendars.Form), Rows: []calendars.Row{
			{Name: "cn", Title: "中国法定节假日及调休", Zone: "Asia/Shanghai", Jobs: 12, Missing: 2027}, {Name: "plant", Title: f.zh("工厂", "Plant"), Changed: f.T("calendars.by", "Time", "2026-11-02 10:04:00", "User", "jonas")},
		}})},
		{"calendar", "/calendars/cn", calendars.Show(calendars.ShowPage{Page: f.page("/calendars/cn"), Row: calendars.Row{Name: "cn", Title: "中国法定节假日及调休", Zone: "Asia/Shanghai", Jobs: 12, Missing: 2027},
			Week: f.zh("周一、周二", "Mon, Tue"), Year: 2026, Years: []ui.Option{{Value: link.Calendar("cn", 2025), Label: "2025"}, {Value: link.Calendar("cn", 2026), Label: "2026", Selected: true}}, Source: "国办发明电〔2025〕7号", Form: new(calendars.Form), Deletes: true, Months: f.months(),
			Days: []calendars.Day{{From: "2026-10-01", Until: "2026-10-07", Name: "国庆节", Off: true}, {From: "2026-10-10", Name: "国庆节"}}})},
		{"calendar-delete", "/calendars/cn/delete", calendars.Delete(calendars.DeletePage{Page: f.page("/calendars/cn/delete"), Name: "cn", Shipped: true, Jobs: 12})},
		{"pauses", "/pauses", pauses.List(f.pauses())},
		{"webhooks", "/webhooks", webhooks.List(f.webhooks())},
		{"webhooks-empty", "/webhooks?empty", webhooks.List(webhooks.ListPage{Page: f.page("/webhooks")})},
		{"webhook", "/webhooks/2", webhooks.Show(f.webhook())},
		{"webhook-form", "/webhooks/new", webhooks.Form(f.webhookForm())},
		{"webhook-secret", "/webhooks/2/secret", webhooks.Made(webhooks.MadePage{Page: f.page("/webhooks/2/secret"), ID: 2, Name: "hub", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Rotated: true})},
		{"webhook-delete", "/webhooks/2/delete", webhooks.Delete(webhooks.DeletePage{Page: f.page("/webhooks/2/delete"), ID: 2, Name: "hub", Waiting: "12"})},
		{"pauses-empty", "/pauses?empty", pauses.List(f.pausesNone())},
		{"teams", "/teams", users.Teams(f.teams())},
		{"teams-empty", "/teams", users.Teams(users.TeamsPage{Page: f.page("/teams")})},
		{"team-edit", "/teams/2/edit", users.TeamForm(f.teamEdit())},
		{"team-new", "/teams/new", users.TeamForm(users.TeamPage{Rights: rights, Page: f.page("/teams/new"), Errors: map[string]string{users.FieldName: f.T("team.error.taken")}, Name: "Ops", Members: f.teamEdit().Members, Groups: f.userEdit().Groups})},
		{"team-delete", "/teams/2/delete", users.TeamDelete(users.TeamDeletePage{Page: f.page("/teams/2/delete"), ID: 2, Name: f.zh("夜间值班", "Night shift"), Members: 3})},
		{"tokens", "/tokens", tokens.List(f.tokens(false))},
		{"tokens-all", "/tokens?of=all", tokens.List(f.tokens(true))},
		{"tokens-none", "/tokens?none", tokens.List(tokens.ListPage{Page: f.page("/tokens")})},
		{"token-new", "/tokens/new", tokens.Form(f.tokenNew())},
		{"token-made", "/tokens/made", tokens.Made(tokens.MadePage{Page: f.page("/tokens"), Name: "jenkins", Token: "pnc_0000000000EXAMPLE0NOT0A0TOKEN00000000"})},
		{"token-revoke", "/tokens/4/revoke", tokens.Revoke(tokens.RevokePage{Page: f.page("/tokens/4/revoke"), ID: 4, Name: "jenkins"})},
		{"backfill", "/jobs/7/backfill", backfills.List(f.backfills(false))},
		{"backfill-plan", "/jobs/7/backfill?plan", backfills.List(f.backfills(true))},
		{"device", "/device?code=BCDF-GHJK", tokens.Form(f.device())},
		{"device-code", "/device", tokens.Code(tokens.CodePage{Page: f.page("/device"), Code: "BCDF-GHJ", Error: f.T("problem.device.gone")})},
		{"device-done", "/device?done", tokens.Answered(tokens.CodePage{Page: f.page("/device"), Program: "punctual on ops-laptop-7", LetIn: true})},
		{"device-refused", "/device?refused", tokens.Answered(tokens.CodePage{Page: f.page("/device")})},
		{"account-new", "/tokens/accounts/new", tokens.AccountForm(tokens.AccountPage{Page: f.page("/tokens/accounts/new"), Name: "Jenkins", Error: f.T("user.error.name")})},
		{"view-new", "/views/new", saved.Form(f.viewNew())},
		{"view-edit", "/views/3/edit", saved.Form(f.viewEdit())},
		{"docs", "/docs", manual.Front(f.docs(""))},
		{"docs-found", "/docs?q=token", manual.Front(f.docs("token"))},
		{"docs-page", "/docs/operations", manual.Read(f.docsPage("operations"))},
		{"help", "/help", help.Show(help.Page{Page: f.page("/help"), Rights: rights, Causes: causes})},
		{"settings", "/settings", settings.Show(f.settings(false))},
		{"settings-invalid", "/settings?invalid", settings.Show(f.settings(true))},
		{"audit", "/audit", audit.List(f.audit())},
		{"audit-searched", "/audit?action=delete", audit.List(f.auditSearched())},
		{"audit-entry", "/audit/812", audit.Entry(f.auditEntry())},
		{"error-404", "/nowhere", errorpage.Whole(errorpage.Page{Page: f.page("/nowhere"), Status: 404})},
		{"error-session", "/jobs/7", errorpage.Expired(errorpage.Page{Page: layout.Page{Printer: f.Printer, Theme: f.theme, Path: "/jobs/7"}, Status: 401}, "/jobs/7", []errorpage.Field{{Name: "name", Value: "x"}}, true)},
		{"error-500", "/broken", errorpage.Whole(errorpage.Page{Page: layout.Page{Printer: f.Printer, Theme: f.theme, Path: "/broken"}, Status: 500, RequestID: "01JCX8W2H7"})},
	}...)
}

func (f fakes) loginWays(closed bool) login.Page {
	p := f.login("")
	p.FirstTime, p.Closed = false, closed
	p.Ways = []login.Way{{Label: f.zh("公司统一账号", "Company account"), URL: "/sign-in/company"}, {Label: "Casdoor", URL: "/sign-in/casdoor"}}
	return p
}

func (f fakes) loginStep() login.StepPage {
	return login.StepPage{Page: layout.Page{Printer: f.Printer, Theme: f.theme, Path: "/login/password"}, Name: "jonas", Next: "/jobs",
		Errors: map[string]string{login.FieldPassword: f.T("user.error.weak")}}
}

func (f fakes) login(problem string) login.Page {
	p := login.Page{Page: layout.Page{Printer: f.Printer, Theme: f.theme, Path: "/login", Version: "0.1.0"}, Next: "/jobs", FirstTime: problem == "", Error: problem, MayRemember: true}
	if problem != "" {
		p.Name = "admin"
	}
	return p
}

func (f fakes) groupOptions(selected int) []ui.Option {
	names := []string{f.zh("订单服务", "Orders"), f.zh("支付网关", "Payments"), f.zh("报表中心", "Reporting"), f.zh("示例执行器", "Sample executor")}
	options := make([]ui.Option, len(names))
	for i, n := range names {
		options[i] = ui.Option{Value: fmt.Sprint(i + 1), Label: n, Selected: i+1 == selected}
	}
	return options
}

// look is a list as it comes, but for the columns that are hidden.
func (f fakes) look(list string, columns []ui.Column, hidden ...string) ui.Look {
	l := ui.Look{List: list, Rows: ui.UsualRows}
	for _, c := range columns {
		l.Columns = append(l.Columns, ui.Option{Value: c.Name, Label: f.T(c.Label), Selected: !slices.Contains(hidden, c.Name)})
	}
	return l
}

// jobsSorted are found by a text and sorted by their names, a line each, up to where such a list is sorted.
func (f fakes) jobsSorted() jobs.ListPage {
	p := f.jobs()
	p.Flashes, p.Filter = nil, link.JobFilter{Text: "a", Sort: "name"}
	p.Look = f.look("jobs", jobs.Columns, "author", "history")
	p.Look.Dense, p.SortEnds, p.Total, p.More, p.Pager = true, true, 1000, true, ui.Pager{Summary: f.zh("共 1,000+ 个任务", "1,000+ jobs"), Previous: "/jobs?q=a&sort=name&page=19"}
	return p
}

func (f fakes) runsSorted() runs.ListPage {
	p := f.runs()
	p.Filter, p.Live, p.Pager = link.RunFilter{Sort: "-duration"}, false, ui.Pager{}
	p.Sorted, p.Reached, p.Further = 5000, f.at(-40*time.Minute), "/runs?deep=1&sort=-duration"
	p.Look.Dense = true
	return p
}

func (f fakes) jobs() jobs.ListPage {
	p := jobs.ListPage{Page: f.page("/jobs", layout.Flash{Kind: layout.FlashSuccess, Text: f.zh("“每日对账”已启动。", "“Daily reconciliation” is started."), Undo: &layout.Undo{URL: "/jobs/7/stop"}}),
		Groups: f.groupOptions(0), Total: 1284, CanCreate: true, AnyJobs: true, Views: f.views("jobs"), Look: f.look("jobs", jobs.Columns),
		Pager: ui.Pager{Next: "/jobs?page=2", Summary: f.zh("第 1–12 条，共 1,284 条", "1–12 of 1,284")}}
	row := func(id int64, name, group, kind, schedule, glue, handler, author string, running bool, next time.Duration, last runstate.State, ago time.Duration) {
		r := jobs.Row{ID: id, Name: name, GroupID: 1, Group: group, ScheduleType: kind, Schedule: schedule, Glue: glue, Handler: handler, Author: author, Running: running, CanEdit: true, CanRun: true, CanSchedule: true, Startable: kind != "NONE"}
		if next != 0 {
			r.Next = f.at(next)
		}
		if last != "" {
			r.Last = jobs.LastRun{LogID: 90000 + id, State: last, At: f.at(-ago)}
		}
		for i := range min(30, int(id)) {
			r.History = append(r.History, []jobs.Mark{jobs.MarkGood, jobs.MarkGood, jobs.MarkGood, jobs.MarkBad, jobs.MarkGood, jobs.MarkGood, jobs.MarkSkipped}[i*i*int(id)%7])
		}
		p.Rows = append(p.Rows, r)
	}
	orders, pay, report, sample := f.zh("订单服务", "Orders"), f.zh("支付网关", "Payments"), f.zh("报表中心", "Reporting"), f.zh("示例执行器", "Sample executor")
	row(7, f.zh("每日对账", "Daily reconciliation"), pay, "CRON", "0 0 2 * * ?", "BEAN", "reconcileHandler", f.zh("王敏", "Mina Wang"), true, 4*time.Hour, runstate.Success, 20*time.Hour)
	row(8, f.zh("关闭超时未支付订单", "Close unpaid orders"), orders, "CRON", "0 */5 * * * ?", "BEAN", "closeUnpaidOrders", f.zh("李强", "Jonas Li"), true, 3*time.Minute, runstate.Sent, 12*time.Second)
	row(12, f.zh("同步物流轨迹", "Sync parcel tracking"), orders, "FIX_RATE", f.zh("每 30 秒", "every 30 s"), "BEAN", "trackingSync", f.zh("李强", "Jonas Li"), true, 14*time.Second, runstate.Success, 16*time.Second)
	row(15, f.zh("清理过期会话与临时文件，并在完成后触发磁盘容量检查", "Remove expired sessions and temporary files, then check the disk space on every node"), sample, "CRON", "0 30 3 ? * MON-FRI", "GLUE_SHELL", "", f.zh("陈晓", "Ada Chen"), true, 9*time.Hour, runstate.Failed, 30*time.Hour)
	row(18, f.zh("月度账单", "Monthly statement"), report, "CRON", "0 0 6 1 * ?", "BEAN", "monthlyStatement", f.zh("王敏", "Mina Wang"), true, 9*24*time.Hour, runstate.Success, 20*24*time.Hour)
	row(21, f.zh("推送积分到账通知", "Send loyalty notifications"), orders, "CRON", "0 0 10,16 * * ?", "GLUE_PYTHON", "", f.zh("赵磊", "Leo Zhao"), false, 0, runstate.Killed, 5*24*time.Hour)
	row(22, f.zh("重建搜索索引", "Rebuild the search index"), report, "NONE", "", "BEAN", "rebuildIndex", f.zh("赵磊", "Leo Zhao"), false, 0, "", 0)
	row(25, f.zh("汇率拉取", "Fetch exchange rates"), pay, "CRON", "15 0 * * * ?", "GLUE_NODEJS", "", f.zh("陈晓", "Ada Chen"), true, 42*time.Minute, runstate.Timeout, 18*time.Minute)
	row(31, f.zh("分片：用户画像计算", "Shards: user profiles"), report, "CRON", "0 0 1 * * ?", "BEAN", "profileShard", f.zh("王敏", "Mina Wang"), true, 7*time.Hour, runstate.Success, 17*time.Hour)
	row(33, f.zh("健康检查", "Health check"), sample, "FIX_RATE", f.zh("每 10 秒", "every 10 s"), "BEAN", "httpJobHandler", "admin", true, 6*time.Second, runstate.Success, 4*time.Second)
	held := &p.Rows[2]
	held.Next, held.PausedUntil = format.Time{}, f.at(30*time.Hour)
	held.Paused = f.T("jobs.paused", "User", "admin", "At", f.at(30*time.Hour).Absolute, "Reason", f.zh("数据库迁移", "The database moves"))
	held = &p.Rows[9]
	held.Next = format.Time{}
	held.Paused = f.T("jobs.paused.open", "User", f.zh("王敏", "Mina Wang"), "Reason", f.zh("支付网关更换证书，期间上游拒绝所有请求", "The gateway's certificates are replaced, and the bank refuses all calls meanwhile"))
	p.Rows[1].Deadline = &jobs.Deadline{By: "12:00", At: f.at(time.Hour), Mark: f.T("jobs.doneby.mark", "By", "12:00"), Text: f.T("job.doneby.atrisk", "At", "12:14", "Over", "14 min"), Late: true}
	return p
}

func (f fakes) formBase(path string) jobs.FormPage {
	p := jobs.FormPage{
		Page: f.page(path), Groups: f.groupOptions(2), Zone: "Asia/Shanghai", Pickable: true,
		Values: jobs.FormValues{jobs.FieldGroup: "2", jobs.FieldAuthor: "admin", jobs.FieldScheduleType: "CRON", jobs.FieldCron: "0 0 2 * * ?", jobs.FieldMisfire: "DO_NOTHING",
			jobs.FieldRoute: "FIRST", jobs.FieldBlock: "SERIAL_EXECUTION", jobs.FieldGlue: "BEAN", jobs.FieldTimeout: "0", jobs.FieldRetries: "0"},
	}
	at := time.Date(f.now.Year(), f.now.Month(), f.now.Day()+1, 2, 0, 0, 0, f.now.Location())
	p.Preview.Zone, p.Preview.Times = p.Zone, f.times(at, 24*time.Hour, 8)
	return p
}

func (f fakes) jobForm() jobs.FormPage { return f.formBase("/jobs/new") }

func (f fakes) jobEdit() jobs.FormPage {
	p := f.formBase("/jobs/15/edit")
	p.ID, p.Name = 15, f.zh("清理过期会话", "Remove expired sessions")
	p.Values[jobs.FieldName], p.Values[jobs.FieldGlue], p.Values[jobs.FieldSource] = p.Name, "GLUE_SHELL", "#!/bin/bash\nset -euo pipefail\n\n# $1 is the parameter\nfind /var/tmp/sessions -mtime +\"$1\" -delete\ndf -h /var/tmp\n"
	p.Values[jobs.FieldCron], p.Values[jobs.FieldParam], p.Values[jobs.FieldTimeout], p.Values[jobs.FieldRetries] = "0 30 3 ? * MON-FRI", "7", "300", "2"
	p.Values[jobs.FieldChildren], p.Values[jobs.FieldAlarmEmail], p.Pickable = "21, 22, 99", "ops@example.com", true
	p.Children = []ui.PickedJob{{ID: 21, Name: f.zh("推送积分到账通知", "Send loyalty notifications"), Group: f.zh("订单服务", "Orders")}, {ID: 22, Name: f.zh("重建搜索索引", "Rebuild the search index"), Group: f.zh("报表中心", "Reporting")}, {ID: 99}}
	p.Preview.Reading = "0 30 3 ? * 2-6"
	p.Preview.Warnings = []string{f.zh("“MON-FRI”按周一至周五理解。", "MON-FRI is read as Monday to Friday.")}
	return p
}

func (f fakes) jobCurl() jobs.FormPage {
	p := f.formBase("/jobs/new/curl")
	p.Values[jobs.FieldName], p.Values[jobs.FieldHandler] = "POST billing.example.com/close", "httpJobHandler"
	p.Values[jobs.FieldParam] = "{\n  \"url\": \"https://billing.example.com/close\",\n  \"method\": \"POST\",\n  \"auth\": \"Bearer ${{ secrets.BILLING_EXAMPLE_COM_TOKEN }}\"\n}"
	p.HTTPGroup, p.Secrets = 2, []string{"BILLING_EXAMPLE_COM_TOKEN"}
	maps.Copy(p.Values, map[string]string{
		jobs.FieldCallAs: jobs.CallAsFields, jobs.FieldCallURL: "https://billing.example.com/close", jobs.FieldCallMethod: "POST",
		jobs.FieldCallAuth: "Bearer ${{ secrets.BILLING_EXAMPLE_COM_TOKEN }}", jobs.FieldCallBody: "{\"day\": \"${{ planned | yyyy-MM-dd, -1d }}\"}",
	})
	p.Curl = jobs.Curl{
		Offered: true, Done: true,
		Secrets: []string{f.T("jobs.curl.note.secret", "Text", "Authorization", "Name", "BILLING_EXAMPLE_COM_TOKEN")},
		Notes:   []string{f.T("jobs.curl.note.insecure", "Text", "-k"), f.T("jobs.curl.note.leftout", "Text", "--proxy")},
	}
	return p
}

func (f fakes) jobInvalid() jobs.FormPage {
	p := f.formBase("/jobs/new?invalid")
	p.Values[jobs.FieldCron] = "0 61 * * * ?"
	p.Errors = jobs.FieldErrors{
		jobs.FieldName: f.zh("请填写任务描述。", "Say what the job does."),
		jobs.FieldCron: f.zh("分钟：61 超出范围 0–59。", "Minute: 61 lies outside 0–59."),
	}
	p.Preview = jobs.Preview{Zone: p.Zone, Error: p.Errors[jobs.FieldCron]}
	return p
}

// runOnceAsked is a run by hand whose parameter consists of fields, one of which is wrong and one an expression.
func (f fakes) runOnceAsked() jobs.RunPage {
	p := f.runOnce()
	p.Param, p.Errors = "", map[string]string{"param.limit": f.zh("“处理上限”应为数字。", "“Limit” takes a number.")}
	p.Form = []jobs.RunField{
		{ParamField: jobspec.ParamField{Name: "day", Label: f.zh("业务日期", "Business day"), Type: jobspec.ParamDate, Required: true}, Value: "2026-11-20"},
		{ParamField: jobspec.ParamField{Name: "region", Label: f.zh("区域", "Region"), Type: jobspec.ParamText, Choices: []string{"eu", "us"}, Help: f.zh("留空则两者都处理。", "Both where it is left empty.")}, Value: "eu"},
		{ParamField: jobspec.ParamField{Name: "limit", Label: f.zh("处理上限", "Limit"), Type: jobspec.ParamNumber}, Value: "many"},
		{ParamField: jobspec.ParamField{Name: "until", Label: f.zh("截至", "Until"), Type: jobspec.ParamDate}, Value: "${{ planned | yyyy-MM-dd }}"},
		{ParamField: jobspec.ParamField{Name: "dry", Label: f.zh("只说明会做什么", "Only say what would be done"), Type: jobspec.ParamFlag, Help: f.zh("不写入任何数据。", "Nothing is written.")}, Value: "true"},
	}
	return p
}

func (f fakes) runOnce() jobs.RunPage {
	return jobs.RunPage{Page: f.page("/jobs/7/run"), ID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Param: `{"day":"2026-11-20","channel":"all"}`,
		Online: f.typed()[:3]}
}

func (f fakes) runs() runs.ListPage {
	p := runs.ListPage{Page: f.page("/runs"), Groups: f.groupOptions(0), Live: true, AnyRuns: true, CanClear: true, Pager: ui.Pager{Next: "/runs?before=90394"}, Look: f.look("runs", runs.Columns)}
	row := func(id int64, name, group string, s runstate.State, trigger string, ago time.Duration, late, took, address, message string) {
		p.Rows = append(p.Rows, runs.Row{LogID: id, JobID: 7, JobName: name, GroupID: 1, Group: group, State: s, Trigger: trigger, At: f.at(-ago), Lateness: late,
			Late: id == 90404, Duration: took, Address: address, Message: message, CanKill: s == runstate.Sent, CanRerun: !s.Open()})
	}
	d := func(v time.Duration) string { return format.Duration(f.Printer, v) }
	orders, pay, report, sample := f.zh("订单服务", "Orders"), f.zh("支付网关", "Payments"), f.zh("报表中心", "Reporting"), f.zh("示例执行器", "Sample executor")
	plus := func(v time.Duration) string { return format.Delta(f.Printer, v) }
	row(90432, f.zh("健康检查", "Health check"), sample, runstate.Waiting, "CRON", 0, "", "", "", "")
	row(90431, f.zh("关闭超时未支付订单", "Close unpaid orders"), orders, runstate.Sent, "CRON", 12*time.Second, plus(3*time.Millisecond), d(12*time.Second), "http://10.2.0.14:9999/", "")
	row(90430, f.zh("同步物流轨迹", "Sync parcel tracking"), orders, runstate.Success, "CRON", 16*time.Second, plus(2*time.Millisecond), d(840*time.Millisecond), "http://10.2.0.15:9999/", "")
	row(90428, f.zh("汇率拉取", "Fetch exchange rates"), pay, runstate.Timeout, "RETRY", 70*time.Second, plus(4*time.Millisecond), d(30*time.Second), "http://10.2.0.21:9999/", f.zh("运行超过 30 秒，已被执行器终止", "Stopped by the executor after 30 s"))
	row(90427, f.zh("汇率拉取", "Fetch exchange rates"), pay, runstate.Failed, "CRON", 2*time.Minute, plus(2*time.Millisecond), d(1700*time.Millisecond), "http://10.2.0.21:9999/", "dial tcp 203.0.113.9:443: i/o timeout")
	row(90420, f.zh("每日对账", "Daily reconciliation"), pay, runstate.Success, "MANUAL", 4*time.Minute, plus(6*time.Millisecond), d(95*time.Second), "http://10.2.0.14:9999/", f.zh("共核对 182,400 笔，差异 0 笔", "182,400 checked, 0 differ"))
	row(90417, f.zh("清理过期会话与临时文件，并在完成后触发磁盘容量检查", "Remove expired sessions and temporary files, then check the disk space on every node"), sample, runstate.Failed, "CRON", 9*time.Minute, plus(1*time.Millisecond), d(2300*time.Millisecond), "http://10.2.0.30:9999/", "script exit value(1) is failed")
	row(90411, f.zh("分片：用户画像计算", "Shards: user profiles"), report, runstate.Success, "CRON", 14*time.Minute, plus(3*time.Millisecond), d(11*time.Minute+9*time.Second), "http://10.2.0.41:9999/", "")
	p.Rows[len(p.Rows)-1].Shard = "2/3"
	row(90409, f.zh("推送积分到账通知", "Send loyalty notifications"), orders, runstate.Killed, "CRON", 31*time.Minute, plus(2*time.Millisecond), d(75*time.Second), "http://10.2.0.15:9999/", f.tell(event.KilledAt, "admin", event.KilledRunning))
	row(90404, f.zh("月度账单", "Monthly statement"), report, runstate.Lost, "CRON", 50*time.Minute, plus(12*time.Second), "", "http://10.2.0.42:9999/", f.tell(event.LostRun, event.LostSilent, "http://10.2.0.42:9999/"))
	row(90401, f.zh("健康检查", "Health check"), sample, runstate.Skipped, "MISFIRE", 52*time.Minute, "", "", "", f.tell(event.SkippedFires, 8, false, f.now.Add(-60*time.Minute), f.now.Add(-53*time.Minute), "DO_NOTHING"))
	row(90399, f.zh("重建搜索索引", "Rebuild the search index"), report, runstate.SendFailed, "API", 55*time.Minute, plus(2*time.Millisecond), "", "", f.tell(event.NoExecutor))
	row(90398, f.zh("重建搜索索引", "Rebuild the search index"), report, runstate.Discarded, "CRON", 56*time.Minute, "", "", "", f.tell(event.Full, 3, 3))
	row(90397, f.zh("汇率拉取", "Fetch exchange rates"), pay, runstate.Cancelled, "RETRY", 57*time.Minute, "", "", "", f.tell(event.Withdrawn, 90390))
	row(90396, f.zh("每日对账", "Daily reconciliation"), pay, runstate.Unconfirmed, "CRON", 58*time.Minute, plus(4*time.Millisecond), "", "http://10.2.0.21:9999/", f.tell(event.MayHave, "http://10.2.0.21:9999/", wire.FaultLate, "context deadline exceeded"))
	row(90395, f.zh("旧报表", "Old report"), report, runstate.Stopped, "MISFIRE", 59*time.Minute, "", "", "", f.tell(event.JobStopped, "cron: minute 61 is out of range"))
	row(90394, f.zh("同步物流轨迹", "Sync parcel tracking"), orders, runstate.Success, "MISFIRE", 60*time.Minute, "", d(2*time.Second), "http://10.2.0.15:9999/", f.tell(event.StandsFor, 12, false, f.now.Add(-72*time.Minute), f.now.Add(-61*time.Minute)))
	p.Rows[3].Faults = f.T("job.faults", "Count", 31, "N", "31")
	return p
}

// runsFurther is a search that stopped before it had a page's worth of runs.
func (f fakes) runsFurther(found int) runs.ListPage {
	p := f.runs()
	p.Filter, p.Live, p.Pager = link.RunFilter{Text: "timeout", Range: link.RangeAll}, false, ui.Pager{}
	p.Rows, p.Further, p.Reached = p.Rows[3:3+found], "/runs?q=timeout&range=all&deep=1", f.at(-52*time.Hour)
	return p
}

// tell is an event as a page tells it.
func (f fakes) tell(key event.Key, args ...any) string {
	return event.Teller{Printer: f.Printer, Zone: f.now.Location()}.Tell(event.New(f.now, key, args...))
}

// beat is a step of a timeline, so long after its planned time.
type beat struct {
	name   string
	state  runs.StepState
	after  time.Duration
	detail string
}

// steps draws beats; those that are still to come have no time.
func (f fakes) steps(beats ...beat) []runs.Step {
	base := f.now.Truncate(time.Minute)
	var steps []runs.Step
	for i, b := range beats {
		s := runs.Step{Name: b.name, State: b.state, Detail: b.detail}
		if b.state != runs.StepActive && b.state != runs.StepPending && b.state != runs.StepWaiting {
			s.At = format.Clock(base.Add(b.after), base)
			if i > 0 {
				s.Delta = format.Delta(f.Printer, b.after-beats[i-1].after)
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// claimed and sent are how nearly every timeline begins.
func (f fakes) claimed() []beat {
	return []beat{
		{runs.StepClaimed, runs.StepDone, -4800 * time.Millisecond, f.T("runs.step.by", "Name", "admin-1")},
		{runs.StepRouted, runs.StepDone, -4799 * time.Millisecond, f.tell(event.Routed, "ROUND", "http://10.2.0.14:9999/", 3)},
		{runs.StepPlanned, runs.StepDone, 0, ""},
	}
}

func (f fakes) sent() []beat {
	return append(f.claimed(), beat{runs.StepSent, runs.StepDone, 3 * time.Millisecond, ""}, beat{runs.StepAnswered, runs.StepDone, 5 * time.Millisecond, ""})
}

func (f fakes) timeline(row int, handler string) runs.Timeline {
	return runs.Timeline{Row: f.runs().Rows[row], Handler: handler, Glue: "BEAN", Param: `{"day":"${{ planned | yyyy-MM-dd, -1d }}"}`, SentParam: `{"day":"2026-02-28"}`, PlannedFor: f.at(-25 * time.Hour), Planned: f.at(-12 * time.Second), RetriesLeft: 2, CanRun: true}
}

func (f fakes) runLive() runs.DetailPage {
	s := f.timeline(1, "closeUnpaidOrders")
	s.Broadcast, s.ShardsDone = runstate.Sent, f.T("runs.shards.done", "N", "1", "All", "3")
	for i, state := range []runstate.State{runstate.Success, runstate.Sent, runstate.Failed} {
		s.Shards = append(s.Shards, runs.Shard{LogID: s.LogID + int64(i), Shard: fmt.Sprintf("%d/3", i+1), Address: fmt.Sprintf("http://10.2.0.%d:9999/", 14+i), State: state})
	}
	s.Steps = f.steps(append(f.sent(), beat{runs.StepCalledBack, runs.StepActive, 0, ""})...)
	p := runs.DetailPage{Page: f.page("/runs/90431"), Timeline: s, Live: true, Log: runs.Log{Status: runs.LogLive, First: 1}}
	for i := range 60 {
		line := fmt.Sprintf("2026-11-21 10:05:%02d.%03d INFO  closed order %d of 500, refund=%t", i, i*13%1000, 8100+i*7, i%9 == 0)
		if i == 7 {
			line = "2026-11-21 10:05:07.091 WARN  <b>order 8149</b> locked by another session, trying again: SELECT id, state, amount, currency, updated_at FROM orders WHERE state = 'UNPAID' AND created_at < NOW() - INTERVAL 30 MINUTE ORDER BY id LIMIT 500 FOR UPDATE"
		}
		p.Log.Lines = append(p.Log.Lines, line)
	}
	p.Log.Next = len(p.Log.Lines) + 1
	return p
}

func (f fakes) runFailed() runs.DetailPage {
	s := f.timeline(6, "")
	s.Glue, s.OriginID = "GLUE_SHELL", 90402
	s.Steps = f.steps(append(f.sent(), beat{runs.StepCalledBack, runs.StepFailed, 2305 * time.Millisecond, "500"}, beat{runs.StepFollow, runs.StepDone, 2305 * time.Millisecond, f.tell(event.Retry, 15, 90418)})...)
	s.ResultNote = []string{"script exit value(1) is failed", "\tat Clean.run(Clean.java:12)"}
	s.Cause = runs.Cause{Line: 3, Text: "find: ‘/var/tmp/sessions’: Permission denied"}
	s.Attempts = []runs.Attempt{{LogID: 90402, State: runstate.Failed}, {LogID: 90417, State: runstate.Failed}, {LogID: 90418, State: runstate.Success}}
	s.DoneBy = f.T("runs.doneby.late", "By", "06:00", "Over", "5 min")
	s.Runbook = "https://wiki.example.com/sessions"
	s.Ack = new(f.ackOf("8", "ana", f.zh("已联系上游，预计 15 点恢复", "The bank was called, it should be back at 15:00")))
	s.Past = runs.Past{
		Bars: f.bars(50, time.Hour, 84*time.Second, map[int]runstate.State{1: runstate.Failed}), Usual: f.T("runs.usual", "P50", "1.4 s", "P95", "2.1 s"), Times: "×6.3", Unlike: true,
		Previous: 90380, Next: 90430, Good: 90380, Against: &runs.Comparison{
			Good: 90380, At: f.at(-time.Hour), Same: f.T("runs.fact.trigger"), Rows: []runs.Difference{{Label: f.T("runs.column.duration"), Good: "1.4 s", This: "8.8 s"}, {Label: f.T("jobs.field.param"), Good: "--days 7", Code: true}},
			Changes: []ui.Change{{User: "mina", Action: "update", Fields: f.T("audit.field.executor_param"), At: f.at(-30 * time.Minute), URL: "/audit/7"}},
		},
	}
	s.Past.Bars.Bars[49].This = true
	s.CanNote, s.Notes = true, []ui.Note{{ID: 4, Text: f.zh("目录权限已修正，见工单 1182", "The folder's owner was corrected, see ticket 1182"), By: "ana", At: f.at(-10 * time.Minute), May: true}}
	s.Follows = []runs.Follow{{LogID: 90418, Trigger: "RETRY", JobName: f.zh("清理过期会话", "Remove expired sessions"), State: runstate.Success}}
	return runs.DetailPage{Page: f.page("/runs/90417"), Timeline: s, Log: runs.Log{Status: runs.LogComplete, First: 1, Next: 7, Lines: []string{
		"2026-11-21 03:30:00 [executor] ----------- start, job 15, log 90417 -----------", "+ find /var/tmp/sessions -mtime +7 -delete",
		"find: ‘/var/tmp/sessions’: Permission denied", "\x1b[38;5;17mINFO\x1b[0m see https://wiki.example.com/sessions.", "WARN 2 left", "2026-11-21 03:30:02 [executor] ----------- end, code 500: script exit value(1) is failed -----------"}}}
}

func (f fakes) runUnsent() runs.DetailPage {
	s := f.timeline(11, "rebuildIndex")
	s.Steps = f.steps(beat{runs.StepPlanned, runs.StepDone, 0, ""}, beat{runs.StepClaimed, runs.StepDone, time.Millisecond, f.T("runs.step.by", "Name", "admin-1")},
		beat{runs.StepTriggered, runs.StepDone, time.Millisecond, f.tell(event.Triggered, "ci-token")}, beat{runs.StepRouted, runs.StepFailed, 2 * time.Millisecond, f.tell(event.NoExecutor)})
	s.Why, s.Advice = s.Message, f.T("advice.noexecutor", "Group", s.Group)
	return runs.DetailPage{Page: f.page("/runs/90399"), Timeline: s, Log: runs.Log{Status: runs.LogNone, First: 1, Next: 1}}
}

func (f fakes) groups() groups.ListPage {
	online := func(hosts ...string) []groups.Address {
		var all []groups.Address
		for _, h := range hosts {
			all = append(all, groups.Address{URL: "http://" + h + ":9999/", State: groups.AddressOnline, Beat: f.at(-11 * time.Second)})
		}
		return all
	}
	reporting := online("10.2.0.41")
	reporting = append(reporting, groups.Address{URL: "http://10.2.0.42:9999/", State: groups.AddressLate, Beat: f.at(-70 * time.Second)}, groups.Address{URL: "http://10.2.0.43:9999/", State: groups.AddressOffline, Beat: f.at(-3 * time.Hour)})
	return groups.ListPage{Page: f.page("/executors"), Total: 5, CanEdit: true, AnyGroups: true, Refused: f.refused(), Rows: []groups.Row{
		{ID: 1, AppName: "order-service", Title: f.zh("订单服务", "Orders"), Addresses: online("10.2.0.14", "10.2.0.15", "10.2.0.16", "10.2.0.17", "10.2.0.18"), Online: 5, Jobs: 412, CanStop: true},
		{ID: 2, AppName: "payment-gateway", Title: f.zh("支付网关", "Payments"), Addresses: f.typed(), Online: 1, Manual: true, Jobs: 38},
		{ID: 3, AppName: "reporting", Title: f.zh("报表中心", "Reporting"), Addresses: reporting, Online: 2, Jobs: 1204},
		{ID: 4, AppName: "legacy-billing", Title: f.zh("旧账务系统", "Legacy billing"), Jobs: 0},
		{ID: 5, AppName: "punctual-sample", Title: f.zh("示例执行器", "Sample executor"), Addresses: online("127.0.0.1"), Online: 1, Jobs: 4},
	}}
}

// typed are addresses that somebody typed: one that answers, one that does not, one that takes no calls, and one that nobody watches.
func (f fakes) typed() []groups.Address {
	asked := f.at(-20 * time.Second)
	return []groups.Address{
		{URL: "https://pay-1.internal:9443/", State: groups.AddressOnline, Asked: asked},
		{URL: "https://pay-2.internal:9443/", State: groups.AddressOffline, Asked: asked, Since: f.at(-2 * time.Hour), Fault: string(wire.FaultLate)},
		{URL: "https://pay-3.internal:9443/", State: groups.AddressRefusing, Asked: asked, Since: f.at(-26 * time.Minute), Fault: string(wire.FaultAnswer)},
		{URL: "pull://pay-4", State: groups.AddressManual},
	}
}

func (f fakes) refused() []groups.Refused {
	return []groups.Refused{
		{Address: "10.1.2.3", AppName: "order-service", Why: "token", Last: f.at(-12 * time.Second)},
		{Address: "10.1.2.9", Why: "token", Last: f.at(-40 * time.Second)},
		{Address: "10.1.2.4", AppName: "legacy-billing", Why: "tooold", Last: f.at(-26 * time.Second)},
		{Address: "10.1.2.5", Why: "run", Last: f.at(-4 * time.Minute)},
		{Address: "10.1.2.6", AppName: "branches", Executor: "pull://branch-17", Why: "name", Last: f.at(-5 * time.Minute)},
		{Address: "10.1.2.7", AppName: "branches", Executor: "pull://branch-18", Why: "copy", Last: f.at(-6 * time.Minute)},
		{Address: "10.1.2.8", AppName: "order-servce", Executor: "http://10.1.2.8:9999/", Why: "unknown", Last: f.at(-7 * time.Second), Create: link.ExecutorNamed("order-servce")},
	}
}

func (f fakes) groupEdit() groups.FormPage {
	return groups.FormPage{Page: f.page("/executors/2/edit"), ID: 2, Name: f.zh("支付网关", "Payments"),
		Values: groups.FormValues{AppName: "payment-gateway", Title: f.zh("支付网关", "Payments"), Type: groups.TypeManual, Addresses: "https://pay-1.internal:9443/\npay-2.internal", Idle: groups.IdleLost, MaxRunning: "20"},
		Errors: map[string]string{groups.FieldAddresses: f.zh("第 2 行须以 http:// 或 https:// 开头。", "Line 2 must begin with http:// or https://.")}}
}

// killScopes is the choice when a broadcast runs and its job has more.
func (f fakes) killScopes() []ui.Option {
	return []ui.Option{
		{Value: runs.KillOne, Label: f.T("runs.kill.scope.run", "ID", "90431"), Selected: true},
		{Value: runs.KillBroadcast, Label: f.T("runs.kill.scope.broadcast", "N", "3")},
		{Value: runs.KillJob, Label: f.T("runs.kill.scope.job", "N", "5")},
	}
}
