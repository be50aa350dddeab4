package gallery

import (
	"strings"
	"time"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/webhooks"
)

// webhookRow is a webhook whose receiver fails.
func (f fakes) webhookRow() webhooks.Row {
	at := func(ago time.Duration) format.Time { return f.at(-ago) }
	return webhooks.Row{
		ID: 2, Name: f.zh("数据平台", "Data platform"), Place: "https://hub.example.com", State: "on", Trouble: "answered", Status: 503, Failing: at(40 * time.Minute), Rests: at(-4 * time.Minute), Waiting: "10,000+",
		Oldest: at(40 * time.Minute), GivenUp: 3, Dropped: 5120, LastOK: at(41 * time.Minute), Types: []string{"punctual.run.finished", "punctual.alarm.raised"},
		Groups: []string{f.zh("订单服务", "Orders")}, Tags: []string{"pay"},
	}
}

func (f fakes) webhooks() webhooks.ListPage {
	at := func(ago time.Duration) format.Time { return f.at(-ago) }
	return webhooks.ListPage{Page: f.page("/webhooks"), Rows: []webhooks.Row{
		f.webhookRow(),
		{ID: 1, Name: f.zh("值班大屏", "Wall board"), Place: "https://board.example.com", State: "on", Waiting: "0", LastOK: at(12 * time.Second)},
		{ID: 4, Name: f.zh("审计系统", "Auditing"), Place: "https://audit.example.com", State: "on", Trouble: "refused", Status: 422, Failing: at(25 * time.Minute), Waiting: "12", Oldest: at(4 * time.Minute), GivenUp: 118, LastOK: at(26 * time.Minute)},
		{ID: 3, Name: f.zh("旧系统", "Old system"), Place: "http://10.0.0.8:8080", State: "gone", Waiting: "0", LastOK: at(300 * time.Hour)},
	}}
}

func (f fakes) webhook() webhooks.ShowPage {
	at := func(ago time.Duration) format.Time { return f.at(-ago) }
	return webhooks.ShowPage{
		Page: f.page("/webhooks/2"), Row: f.webhookRow(), Tab: "waiting", From: "/webhooks/2?state=waiting", More: "/webhooks/2?state=waiting&below=1",
		Deliveries: []webhooks.Delivery{
			{ID: 901, Event: "evt_901_mm94mtc0", Type: "punctual.run.finished", About: f.T("webhooks.about.run", "ID", 5012, "Job", f.zh("每日对账", "Daily reconciliation")), Link: "/runs/5012", At: at(time.Minute)},
			{ID: 899, Event: "evt_899_mm94mq9k", Type: "punctual.run.finished", About: f.T("webhooks.about.run", "ID", 5010, "Job", f.zh("每日对账", "Daily reconciliation")), Link: "/runs/5010", At: at(5 * time.Minute), Tries: 2,
				Next: at(-time.Minute), Status: 422, Reason: "refused", Answer: "unknown field retry_follows in event data"},
			{ID: 898, Event: "evt_898_mm94lz5s", Type: "punctual.executor.silent", About: f.zh("订单服务", "Orders"), Link: "/executors/1", At: at(40 * time.Minute), Tries: 9, Status: 503, Reason: "answered", Again: true,
				Answer: "<html><head><title>500</title></head><body><h1>Internal Server Error</h1> NullPointerException at com.example.hub.EventController.receive(EventController.java:42) " + strings.Repeat("x", 90)},
		},
	}
}

func (f fakes) webhookForm() webhooks.FormPage {
	p := webhooks.FormPage{Page: f.page("/webhooks/new"), Name: f.zh("数据平台", "Data platform"), URL: "hub.example.com", Tags: "pay", Errors: map[string]string{"url": f.T("webhooks.error.url")}}
	for i, t := range []string{"punctual.run.sent", "punctual.run.finished", "punctual.job.created", "punctual.executor.silent", "punctual.alarm.raised"} {
		p.Types = append(p.Types, webhooks.Tick{Value: t, Label: f.T("webhooks.type." + t), On: i > 0})
	}
	p.Groups = []webhooks.Tick{{Value: "1", Label: f.zh("订单服务", "Orders"), On: true}, {Value: "2", Label: f.zh("库存服务", "Stock")}}
	return p
}
