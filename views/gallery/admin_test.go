package gallery

import (
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/nodes"
	"github.com/punctual-job/punctual/views/ui"
)

// causes are the names of all causes of alarms.
var causes = func() []string {
	var names []string
	for _, c := range alarm.Causes() {
		names = append(names, string(c))
	}
	return names
}()

// The fake data of the pages for administrators.

func (f fakes) nodes() nodes.ListPage {
	return nodes.ListPage{
		Page: f.page("/nodes"),
		Rows: []nodes.Row{
			{ID: 12, Name: "scheduler-1", Address: "http://10.1.0.11:8080", Version: "0.1.0", State: nodes.StateLive, Self: true, Started: f.at(-50 * time.Hour), Beat: f.at(-400 * time.Millisecond), HasLoad: true,
				Load: nodes.Load{Sent: "1,034", Claimed: "1,031", Late: format.Duration(f.Printer, 12*time.Millisecond), Planned: "1,842", Queued: "12", InFlight: "31", Unsent: "1,885", Results: "40", Memory: "118 MiB"}},
			{ID: 13, Name: "scheduler-2", Address: "http://10.1.0.12:8080", Version: "v0.0.0-20261122054548-d08aeaf70784+dirty", State: nodes.StateDraining, Started: f.at(-49 * time.Hour), Beat: f.at(-900 * time.Millisecond), HasLoad: true,
				Load: nodes.Load{Sent: "3.4", Claimed: "0", Late: "–", Planned: "0", Queued: "3", InFlight: "2", Unsent: "5", Results: "0", Memory: "96 MiB"}},
			{ID: 14, Name: "scheduler-3", Address: "http://10.1.0.13:8080", Version: "0.1.0", State: nodes.StateSilent, Started: f.at(-3 * time.Hour), Beat: f.at(-4 * time.Second)},
			{ID: 9, Name: "scheduler-3", Address: "http://10.1.0.13:8080", Version: "0.0.9", State: nodes.StateGone, Started: f.at(-200 * time.Hour), Beat: f.at(-4 * time.Minute)},
		},
		Lease: format.Duration(f.Printer, 5*time.Second),
		Output: []string{
			f.T("nodes.output", "Size", "3.4 GiB", "Objects", "12,031", "Today", "212 MiB"),
			f.T("nodes.output.today", "Rate", "412 KiB", "Waiting", "38", "Pushed", "120,400", "Copied", "3,218"),
			f.T("nodes.output.skipped", "LeftOut", "0", "Lost", "12", "Cut", "1,204"), f.T("nodes.output.unseen", "N", "311"), f.T("nodes.output.held", "N", "12"),
		},
	}
}

// nodesHeld are those of a copy of production, on which nobody has said go.
func (f fakes) nodesHeld() nodes.ListPage {
	p := f.nodes()
	p.Rows, p.Output = p.Rows[3:], nil
	p.Alerts = append(p.Alerts, layout.Alert{Text: f.T("alert.hold"), URL: "/nodes", URLText: f.T("alert.hold.way")})
	p.Hold = &nodes.Hold{By: "ana", Reason: f.zh("周六的演练", "The drill of Saturday"), Since: f.at(-20 * time.Minute), Outside: true}
	return p
}

func (f fakes) usage() jobs.Usage {
	return jobs.Usage{From: "2026-02-26", Until: "2026-03-04", Kept: "2025-11-25", Days: 100, Rows: []jobs.UsageRow{
		{ID: 1, Group: f.zh("支付网关", "Payments"), Took: f.Duration(287 * time.Minute), Runs: "12,091", Failed: "17", Skipped: "3"},
		{ID: 2, Group: f.zh("库存", "Stock and everything else that the warehouses in the country ask for"), Took: f.Duration(90 * time.Minute), Runs: "1,687"},
		{Group: "#99", Runs: "7"}, {Took: f.Duration(8 * time.Second)}, {ID: 3, Group: f.zh("新执行器", "New")},
	}}
}

func (f fakes) groupDetail() groups.DetailPage {
	at := func(host string, s groups.AddressState, ago time.Duration, era string, inFlight, queued int) groups.Address {
		a := groups.Address{URL: "http://" + host + ":9999/", State: s, Era: era, InFlight: inFlight, Queued: queued}
		if ago > 0 {
			a.Beat = f.at(-ago)
		}
		return a
	}
	return groups.DetailPage{
		Page: f.page("/executors/3"), ID: 3, AppName: "reporting", Title: f.zh("报表中心", "Reporting"), Jobs: 1204, CanEdit: true, CanPause: true, Secrets: true, Slots: groups.Slots{Limit: 20, Running: 20, Waiting: 173},
		Paused: []string{f.T("dashboard.paused.group", "User", "ana", "Group", f.zh("报表中心", "Reporting"), "At", f.at(3*time.Hour).Absolute, "Reason", f.zh("每周维护", "Weekly maintenance"))},
		Addresses: []groups.Address{
			at("10.2.0.41", groups.AddressOnline, 11*time.Second, "", 3, 0), at("10.2.0.42", groups.AddressLate, 70*time.Second, "J4", 0, 2),
			at("10.2.0.40", groups.AddressTooOld, 21*time.Second, "", 0, 0),
			at("10.2.0.43", groups.AddressSuspect, 40*time.Second, "", 0, 118), at("10.2.0.44", groups.AddressDisabled, 9*time.Second, "", 1, 0),
			f.typed()[0], f.typed()[1], f.typed()[2], f.typed()[3],
		},
		Token:   groups.TokenCard{GroupID: 3, Own: true, Token: "k7x2m4qwz5tv6yb3ncsd2rje4p", Previous: f.at(20 * time.Hour)},
		Connect: groups.Connect{AdminURL: "https://jobs.example.com", AppName: "reporting", Token: "k7x2m4qwz5tv6yb3ncsd2rje4p"},
	}
}

func (f fakes) groupLost() groups.DetailPage {
	return groups.DetailPage{
		Page: f.page("/executors/4"), ID: 4, AppName: "legacy-billing", Title: f.zh("旧账务系统", "Legacy billing"), CanEdit: true,
		Token: groups.TokenCard{GroupID: 4, Fixed: true}, Connect: groups.Connect{AdminURL: "http://10.1.0.11:8080", AppName: "legacy-billing", Token: "<" + f.T("token.title") + ">", Secret: true},
	}
}

// trouble is why something was not sent, as a page tells it; behind the arguments the recipient may follow.
func (f fakes) trouble(key event.Key, args ...any) string {
	return alarm.Trouble(event.List{event.New(f.now, key, args...)}.Encode()).In(f.Printer)
}

func (f fakes) alarmChannels() []alarms.Channel {
	usual := []string{"failed", "timeout", "lost", "dispatch", "slow", "silent", "recovered"}
	return []alarms.Channel{
		{ID: 1, Name: f.zh("运维邮件", "Operations mail"), Kind: alarmKind("mail"), State: alarms.StateOK, Target: "ops@example.com, night@example.com", ForJobs: true, OKAt: f.at(-26 * time.Minute),
			Routes: []alarms.Route{{ID: 1, Scope: "all", Causes: usual, Usual: true}}},
		{ID: 2, Name: f.zh("值班群", "On call"), Kind: alarmKind("dingtalk"), State: alarms.StateBroken, Quiet: "23:00–07:00", OKAt: f.at(-9 * time.Hour), ErrorAt: f.at(-2 * time.Minute),
			Error:  f.trouble("hook.refused", 310000, "keywords not in content, more: [https://open.dingtalk.com/document/]"),
			Routes: []alarms.Route{{ID: 2, Scope: "group", ScopeID: 2, Name: f.zh("支付网关", "Payments"), Causes: []string{"failed", "timeout"}}, {ID: 3, Scope: "job", ScopeID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Causes: usual, Usual: true}, {ID: 4, Scope: "job", ScopeID: 99, Causes: []string{"lost"}}}},
		{ID: 3, Name: "Slack #jobs", Kind: alarmKind("slack"), State: alarms.StateNew},
		{ID: 4, Name: f.zh("旧工单系统", "Old ticket system"), Kind: alarmKind("webhook"), State: alarms.StateOff, OKAt: f.at(-200 * time.Hour), Routes: []alarms.Route{{ID: 5, Scope: "all", Causes: []string{"dispatch"}}}},
	}
}

func (f fakes) alarmMessages() []alarms.Message {
	m := func(id int64, state, cause, job string, tries int, ago time.Duration, trouble string) alarms.Message {
		return alarms.Message{ID: id, Channel: f.zh("值班群", "On call"), ChannelID: 2, State: state, Tries: tries, Error: trouble, At: f.at(-ago), Cause: cause, Count: 1, JobID: 25, Job: job, LogID: 90427, CanRetry: state == "waiting" || state == "givenup"}
	}
	list := []alarms.Message{
		m(9, "waiting", "failed", f.zh("汇率拉取", "Fetch exchange rates"), 2, 2*time.Minute, f.trouble("hook.refused", 310000, "keywords not in content")),
		m(8, "sending", "timeout", f.zh("汇率拉取", "Fetch exchange rates"), 1, 3*time.Minute, ""),
		m(7, "sent", "recovered", f.zh("每日对账", "Daily reconciliation"), 1, 26*time.Minute, ""),
		m(6, "givenup", "lost", "", 7, 20*time.Hour, f.trouble("hook.call", wire.FaultConnect, "dial tcp 10.9.0.2:443: i/o timeout")),
	}
	list[0].NextAt, list[0].Count = f.at(3*time.Minute), 14
	list[2].Channel, list[2].Recipient = f.zh("运维邮件", "Operations mail"), "ops@example.com"
	list[3].Channel, list[3].CanRetry, list[3].LogID = "", false, 0
	list = append(list, m(5, "sent", "failed", f.zh("汇率拉取", "Fetch exchange rates"), 1, 21*time.Hour, ""))
	list[4].Channel, list[4].Acked = "PagerDuty", true
	return list
}

func (f fakes) alarms() alarms.ListPage {
	return alarms.ListPage{Page: f.page("/alarms"), Channels: f.alarmChannels(), Messages: f.alarmMessages()}
}

func (f fakes) alarm() alarms.DetailPage {
	return alarms.DetailPage{Page: f.page("/alarms/1"), Channel: f.alarmChannels()[0], Test: alarms.Test{Done: true, To: "me@example.com"}}
}

func (f fakes) alarmTested() alarms.DetailPage {
	return alarms.DetailPage{Page: f.page("/alarms/2"), Channel: f.alarmChannels()[1], Messages: f.alarmMessages(),
		Test: alarms.Test{Done: true, Error: f.trouble("hook.refused", 310000, "keywords not in content")}}
}

// alarmKinds are the kinds of the table, as the console shows them.
func alarmKinds() []alarms.Kind {
	var all []alarms.Kind
	for _, i := range alarm.Kinds() {
		all = append(all, alarmKind(i.Kind))
	}
	return all
}

func alarmKind(kind alarm.Kind) alarms.Kind {
	i, _ := kind.Info()
	return alarms.Kind{
		Name: string(kind), Icon: i.Icon, Mail: kind == alarm.KindMail, Example: i.Example, Default: i.Default != "",
		Signs: i.Secret == alarm.SecretSigns, Token: i.Secret == alarm.SecretToken, Chat: i.Chat, Template: i.Template,
	}
}

func (f fakes) alarmForm(kind alarm.Kind) alarms.FormPage {
	return alarms.FormPage{Page: f.page("/alarms/new"), Kinds: alarmKinds(), Kind: alarmKind(kind),
		Values: alarms.FormValues{Enabled: true, EveryJob: true, Security: "starttls", QuietMode: "queue"}}
}

// alarmForJob is for one job, and there are channels that could tell of it.
func (f fakes) alarmForJob() alarms.FormPage {
	p := f.alarmForm("dingtalk")
	p.Page, p.Job = f.page("/alarms/new?job=7&kind=dingtalk"), alarms.Job{ID: 7, Name: f.zh("日终结算（对账、清分与差错处理）", "End of day settlement: reconcile, clear and mend")}
	p.Values.Name = p.Job.Name
	p.Existing = []alarms.Channel{{ID: 2, Name: f.zh("值班群", "On call"), Kind: alarmKind("dingtalk")}, {ID: 1, Name: f.zh("运维邮件", "Operations mail"), Kind: alarmKind("mail")}}
	return p
}

func (f fakes) alarmEdit() alarms.FormPage {
	return alarms.FormPage{Page: f.page("/alarms/2/edit"), ID: 2, Name: f.zh("值班群", "On call"), Kind: alarmKind("dingtalk"), HasURL: true, HasSecret: true,
		Values: alarms.FormValues{Name: f.zh("值班群", "On call"), Enabled: true, QuietFrom: "23:00", QuietTo: "07:00", QuietMode: "count", URL: "ftp://example.com"},
		Errors: map[string]string{alarms.FieldURL: f.T("alarm.error.url")}}
}

// alarmWords is a channel with words of its own, and what they make.
func (f fakes) alarmWords() alarms.FormPage {
	p := f.alarmForm("wecom")
	p.Page = f.page("/alarms/2/edit?words")
	p.ID, p.Name, p.HasURL, p.Kinds = 2, f.zh("值班群", "On call"), true, nil
	p.Values.Name, p.Values.Subject, p.Values.Text = p.Name, f.zh("{{causeName}}：{{jobName}}", "{{causeName}}: {{jobName}}"), "{{group}}, {{firstAt}}\n{{detail}}\n{{url}}"
	p.Preview = &alarms.Preview{Title: f.zh("运行失败：日终结算", "Failed: End of day settlement"), Text: "Payments (payments), 2026-03-02 03:00:12 +08:00\njava.lang.IllegalStateException: ledger closed\n\tat com.example.Settle.run(Settle.java:42)\nhttps://punctual.example.com/runs/90417", At: f.at(-3 * time.Hour)}
	return p
}

// alarmWordsWrong has a placeholder that there is not.
func (f fakes) alarmWordsWrong() alarms.FormPage {
	p := f.alarmWords()
	p.Page, p.Preview, p.Values.Text = f.page("/alarms/2/edit?words&invalid"), nil, "{{job}}"
	p.Errors = map[string]string{alarms.FieldText: f.T("alarm.error.placeholder", "Names", "job (1)")}
	return p
}

func (f fakes) alarmRoute() alarms.RoutePage {
	p := alarms.RoutePage{Page: f.page("/alarms/2/routes/new"), ChannelID: 2, Channel: f.zh("值班群", "On call"), Scope: "group", Groups: f.groupOptions(2),
		Errors: map[string]string{alarms.FieldCauses: f.T("alarm.error.nocause")}}
	for _, c := range causes {
		p.Causes = append(p.Causes, alarms.Cause{Name: c})
	}
	return p
}

func (f fakes) alarmRouteNew() alarms.RoutePage {
	p := f.alarmRoute()
	p.Scope, p.Errors = "all", nil
	p.After, p.Seconds = "15", []ui.Option{{Value: "1", Label: f.zh("运维邮件", "Operations mail")}, {Value: "3", Label: f.zh("值班经理", "Duty manager"), Selected: true}}
	for i := range p.Causes {
		p.Causes[i].Checked = p.Causes[i].Name != "misfire"
	}
	return p
}

// alarmRoutePicked is a rule for a job that was picked.
func (f fakes) alarmRoutePicked() alarms.RoutePage {
	p := f.alarmRouteNew()
	p.Scope, p.Job = "job", "8"
	p.Picked = []ui.PickedJob{{ID: 8, Name: f.zh("关闭超时未支付订单", "Close unpaid orders"), Group: f.zh("订单服务", "Orders")}}
	return p
}

func (f fakes) alarmRouteJob() alarms.RoutePage {
	p := f.alarmRouteNew()
	p.ID, p.Scope, p.Job, p.Errors = 5, "job", "4711", map[string]string{alarms.FieldScope: f.T("alarm.error.nojob")}
	p.Picked = []ui.PickedJob{{ID: 4711}} // gone, or of another executor
	return p
}

func (f fakes) alarmMailTested() alarms.DetailPage {
	p := f.alarm()
	p.Test = alarms.Test{Done: true, Error: f.trouble("mail.connect", wire.FaultRefused, "dial tcp 10.9.0.2:587: connect: connection refused", "ops@example.com") + "\n" +
		f.trouble("mail.recipient", 550, "5.1.1 no such user", "night@example.com")}
	return p
}

func (f fakes) alarmMailEdit() alarms.FormPage {
	return alarms.FormPage{Page: f.page("/alarms/1/edit"), ID: 1, Name: f.zh("运维邮件", "Operations mail"), Kind: alarmKind("mail"), HasPassword: true,
		Values: alarms.FormValues{Name: f.zh("运维邮件", "Operations mail"), Language: "en", Enabled: true, Host: "smtp.example.com", Security: "none", Username: "punctual", From: "punctual@example.com",
			Recipients: "ops@example.com\nnight@example.com", ForJobs: true, QuietMode: "queue"}}
}

func (f fakes) alarmMailInvalid() alarms.FormPage {
	p := f.alarmForm("mail")
	p.Values.Port, p.Values.Username, p.Values.From, p.Values.Recipients, p.Values.QuietFrom = "70000", "punctual", "alarms", "ops@example.com, night", "23:00"
	p.Errors = map[string]string{
		alarms.FieldName: f.T("alarm.error.required"), alarms.FieldHost: f.T("alarm.error.required"), alarms.FieldPort: f.T("alarm.error.out_of_range", "Min", 1, "Max", 65535),
		alarms.FieldPassword: f.T("alarm.error.nopassword"), alarms.FieldFrom: f.T("alarm.error.email", "Value", "alarms"), alarms.FieldRecipients: f.T("alarm.error.email", "Value", "night"),
	}
	return p
}

func (f fakes) alarmWebhookInvalid() alarms.FormPage {
	p := f.alarmForm("webhook")
	p.Values.Name, p.Values.URL, p.Values.Template = f.zh("值班群", "On call"), "hooks.example.com/alarm", `{"text": {{title}}, "who": "{{owner}}"}`
	p.Errors = map[string]string{
		alarms.FieldName: f.T("alarm.error.taken", "Value", p.Values.Name), alarms.FieldURL: f.T("alarm.error.url"), alarms.FieldTemplate: f.T("alarm.error.placeholder", "Names", "owner"),
	}
	return p
}

func (f fakes) nodesIdle() nodes.ListPage {
	p := f.nodes()
	p.Idle, p.Rows = true, p.Rows[:1]
	p.Rows[0].State, p.Rows[0].Beat = nodes.StateSilent, f.at(-7*time.Second)
	return p
}

func (f fakes) nodesUnwell() nodes.ListPage {
	p := f.nodes()
	said := func(row int, stops bool, key string, args ...any) {
		p.Conditions = append(p.Conditions, nodes.Condition{Node: p.Rows[row].Name, ID: p.Rows[row].ID, Stops: stops, Text: f.T("nodes.condition."+key, args...)})
	}
	late := func(d time.Duration) string { return format.Duration(f.Printer, d) }
	said(0, false, "foreign", "Late", late(0), "Count", 0)
	said(0, false, "clock", "Late", late(42*time.Second), "Count", 0)
	said(1, true, "due", "Late", late(37*time.Second), "Count", 0)
	said(1, true, "full", "Late", late(0), "Count", 1885)
	said(1, true, "short", "Late", late(19*time.Second), "Count", 0)
	p.LogLost = []nodes.Condition{{Node: p.Rows[0].Name, ID: p.Rows[0].ID, Text: f.T("nodes.loglost", "N", "1,204")}}
	return p
}

func (f fakes) tokenShown() groups.TokenPage {
	token := "b3q7x2m4kwz5tv6yncsd2rje4p"
	return groups.TokenPage{Page: f.page("/executors/token?show=1"), Token: groups.TokenCard{Token: token, Previous: f.at(50 * time.Minute)},
		Connect: groups.Connect{AdminURL: "https://jobs.example.com", AppName: "my-service", Token: token}}
}

func (f fakes) groupInvalid() groups.FormPage {
	return groups.FormPage{Page: f.page("/executors/new"), Values: groups.FormValues{AppName: "Orders", Type: groups.TypeAuto},
		Errors: map[string]string{groups.FieldAppName: f.T("group.error.appname"), groups.FieldTitle: f.T("job.error.required")}}
}
