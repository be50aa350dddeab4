package gallery

import (
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// alarmFormOfEditor is the form of a channel for somebody who may edit the jobs of two executors.
func (f fakes) alarmFormOfEditor() alarms.FormPage {
	p := f.alarmForm("wecom")
	p.User, p.Owned = layout.User{Name: "jonas", Alarms: true}, true
	p.Groups = []ui.Option{{Value: "1", Label: f.zh("订单服务", "Orders")}, {Value: "2", Label: f.zh("支付网关", "Payments")}}
	return p
}

// alarmOfGroup is a channel that belongs to an executor.
func (f fakes) alarmOfGroup() alarms.DetailPage {
	p := f.alarm()
	p.User, p.Channel.Group = layout.User{Name: "jonas", Alarms: true}, f.zh("订单服务", "Orders")
	p.Channel.ForJobs = false
	p.Channel.Routes = []alarms.Route{{ID: 1, Scope: "all", Of: p.Channel.Group, Causes: []string{"failed"}, Usual: true}}
	return p
}
