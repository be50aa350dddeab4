package gallery

import (
	"strconv"
	"time"

	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/tokens"
)

func (f fakes) tokens(all bool) tokens.ListPage {
	p := tokens.ListPage{Page: f.page("/tokens"), All: all, Rows: []tokens.Row{
		{ID: 4, Name: "jenkins", Hint: "pnc_7Kd2…", Owner: "deploy", Service: true, Rights: []string{"view", "run", "edit"}, Groups: []string{f.zh("订单服务", "Orders"), f.zh("支付网关", "Payments")},
			Expires: f.at(88 * 24 * time.Hour), Used: f.at(-3 * time.Minute), From: "10.0.3.17", State: "active"},
		{ID: 3, Name: "terraform", Hint: "pnc_a91Q…", Owner: "admin", Admin: true, Used: f.at(-26 * time.Hour), From: "fd00:12:34::ab", State: "active"},
		{ID: 2, Name: f.zh("夜间报表", "nightly reports"), Hint: "pnc_Zx0p…", Owner: "jonas", Rights: []string{"view", "run"}, Expires: f.at(-24 * time.Hour), State: "expired"},
		{ID: 1, Name: "old laptop", Hint: "pnc_11Ab…", Owner: "admin", Rights: []string{"view"}, State: "revoked"},
	}}
	if all {
		p.Path = "/tokens?of=all"
		p.Accounts = []tokens.Account{{ID: 9, Name: "deploy"}, {ID: 10, Name: "backup", Disabled: true}}
	}
	return p
}

func (f fakes) device() tokens.FormPage {
	p := f.tokenNew()
	p.Page, p.Name, p.Problem, p.Errors, p.Owner, p.For = f.page("/device"), "punctual on ops-laptop-7", "", nil, "", ""
	p.Device = &tokens.Device{Code: "BCDF-GHJK", Program: p.Name, Address: "10.20.1.77", Asked: f.at(-20 * time.Second)}
	return p
}

func (f fakes) tokenNew() tokens.FormPage {
	p := tokens.FormPage{Rights: rights, Page: f.page("/tokens/new"), Days: tokens.DaysDefault, CanAdmin: true, Scope: map[string]bool{"view": true, "run": true},
		Errors: map[string]string{tokens.FieldName: f.T("job.error.required")}}
	for i, o := range f.groupOptions(0) {
		p.Groups = append(p.Groups, tokens.Group{ID: int64(i + 1), Title: o.Label, Checked: i == 1})
	}
	return p
}

func (f fakes) secrets() groups.SecretsPage {
	return groups.SecretsPage{Page: f.page("/executors/1/secrets"), ID: 1, Title: f.zh("订单服务", "Orders"), CanSet: true, Name: "2nd key",
		Errors: map[string]string{groups.FieldSecretName: f.T("secret.error.name", "Max", 64)}, Rows: []groups.SecretRow{
			{Name: "DB_PASSWORD", By: "admin", Updated: f.at(-40 * 24 * time.Hour)}, {Name: "SMS_GATEWAY_ACCESS_KEY_SECRET", By: "jonas", Updated: f.at(-2 * time.Hour)},
		}}
}

func (f fakes) lineage() groups.LineagePage {
	p := groups.LineagePage{Page: f.page("/executors/1/lineage"), ID: 1, Title: f.zh("订单服务", "Orders"), Rest: 3, Hidden: 1}
	p.Graph.Label = f.T("lineage.title")
	names := []string{f.zh("每晚对账", "Nightly reconciliation"), f.zh("导出订单", "Export the orders"), f.zh("写入仓库", "Load into the warehouse"), f.zh("发送报表", "Send the report to everybody who asked for it"), f.zh("清理", "Clean up")}
	by := [][]int{{}, {0}, {0, 1}, {2}, {3}}
	for i, name := range names {
		n := flows.Node{ID: strconv.Itoa(i), Title: name, Kind: flow.KindJob, Note: "#" + strconv.Itoa(i+12), URL: "/jobs/" + strconv.Itoa(i+12)}
		row := groups.LineageJob{Name: name, URL: n.URL}
		if i == 0 {
			n.Kind, row.Flow = flow.KindFlow, true
		}
		if i == 4 {
			row.Group = f.zh("仓库", "Warehouse")
			n.Note = row.Group
		}
		for _, from := range by[i] {
			n.Needs, row.StartedBy = append(n.Needs, strconv.Itoa(from)), append(row.StartedBy, names[from])
		}
		p.Graph.Nodes, p.Jobs = append(p.Graph.Nodes, n), append(p.Jobs, row)
	}
	return p
}

func (f fakes) glueWaiting(other bool) glue.WaitingPage {
	var trial *glue.Trial
	if other {
		trial = f.glue().Trial
	}
	return glue.WaitingPage{
		Trial: trial,
		Page:  f.page("/jobs/7/glue/waiting"), JobID: 7, Name: f.zh("每日对账", "Daily reconciliation"), Type: "GLUE_SHELL", Author: "jonas", Remark: f.zh("改用新的网关", "use the new gateway"),
		At: f.at(-20 * time.Minute), Old: "#!/bin/bash\necho old\n", New: "#!/bin/bash\necho new\n", Version: "x", MayApprove: other, Nonce: galleryNonce,
		Lines: []glue.Line{{Kind: glue.LineSame, LeftNumber: 1, RightNumber: 1, Left: "#!/bin/bash", Right: "#!/bin/bash"}, {Kind: glue.LineChanged, LeftNumber: 2, RightNumber: 2, Left: "echo old", Right: "echo new"}},
	}
}
