package gallery

import "github.com/punctual-job/punctual/views/saved"

func (f fakes) views(list string) saved.Bar {
	return saved.Bar{Page: list, Params: "state=stopped&tag=night", CanSave: true, Items: []saved.Item{
		{ID: 1, Name: f.zh("我的任务", "My jobs"), URL: "/jobs?author=admin"},
		{ID: 2, Name: f.zh("支付网关失败", "Payments that failed last night"), URL: "/jobs?group=2", Current: true, CanEdit: true},
		{ID: 3, Name: f.zh("已停止", "Stopped"), URL: "/jobs?state=stopped", Shared: true},
	}}
}

func (f fakes) viewNew() saved.FormPage {
	return saved.FormPage{Page: f.page("/views/new"), List: "jobs", Params: "state=stopped", Name: f.zh("已停止", "Stopped"), CanShare: true, CanReplace: true, Error: f.T("views.error.taken")}
}

func (f fakes) viewEdit() saved.FormPage {
	return saved.FormPage{Page: f.page("/views/3/edit"), ID: 3, List: "jobs", Params: "state=stopped", Name: f.zh("已停止", "Stopped"), Shared: true, CanShare: true}
}
