package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/ui"
)

// ackOf is who looks after the alarms of a job, if anybody does.
func (f fakes) ackOf(job, by, remark string) ui.Ack {
	a := ui.Ack{Name: f.zh("汇率拉取", "Fetch exchange rates"), By: by, Remark: remark, URL: "/alarms/open/" + job}
	if by != "" {
		a.At = f.at(-4 * time.Minute)
	}
	return a
}

func (f fakes) openJob(acked bool) alarms.OpenJob {
	j := alarms.OpenJob{ID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Group: f.zh("支付网关", "Payments"), Ack: f.ackOf("7", "", "")}
	j.Alarms = []alarms.OpenAlarm{{Cause: "failed", Since: f.at(-3 * time.Hour), Count: 36, Run: 90417}, {Cause: "silent", Since: f.at(-20 * time.Minute), Count: 1}}
	if acked {
		j.ID, j.Name = 8, f.zh("汇率拉取", "Fetch exchange rates")
		j.Ack = f.ackOf("8", "ana", f.zh("已联系上游，预计 15 点恢复", "The bank was called, it should be back at 15:00"))
		j.Alarms = j.Alarms[:1]
	}
	return j
}

func (f fakes) openAlarms() alarms.OpenPage {
	return alarms.OpenPage{Page: f.page("/alarms/open"), Jobs: []alarms.OpenJob{f.openJob(true), f.openJob(false), f.openJob(false)}}
}

func (f fakes) ackForm(acked bool) alarms.AckPage {
	p := alarms.AckPage{Page: f.page("/alarms/open/7"), Job: f.openJob(acked), May: true, Max: 255, Back: "/jobs/7"}
	if acked {
		p.Path = "/alarms/open/8"
	}
	return p
}

// alarmLink is what the link of a message opens, for somebody who is not signed in.
func (f fakes) alarmLink(state string) alarms.LinkPage {
	p := alarms.LinkPage{Page: f.page("/alarms/link/1.x"), Job: "/jobs/25", URL: "/alarms/link/1.x", Name: f.zh("每日对账", "Daily reconciliation"), Cause: "failed", State: state, Since: f.at(-3 * time.Hour), Reader: "oncall@example.com", Max: 255}
	if state == "acked" {
		p.Ack = f.ackOf("7", "ana", f.zh("已联系上游，预计 15 点恢复", "The bank was called, it should be back at 15:00"))
	}
	return p
}

// ackAll is the form for a storm.
func (f fakes) ackAll() alarms.AllPage {
	p := alarms.AllPage{Page: f.page("/alarms/open/ack"), Max: 255}
	for range 12 {
		p.Jobs = append(p.Jobs, f.openJob(false))
	}
	return p
}
