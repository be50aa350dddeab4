package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/adoption"
)

// adoption is the page of a database that was XXL-JOB's a day ago.
func (f fakes) adoption() adoption.Page {
	return adoption.Page{
		Page: f.page("/adoption"), Release: "2.3.0–2.4.2", At: f.at(-26 * time.Hour), Hash: "MD5", Backoffs: 312, Unheard: 1204, More: true,
		Jobs: []adoption.Job{
			{ID: 17, Name: f.zh("每日对账", "Daily reconciliation"), Conf: "0 30 2 * * ? * *", Finding: "fields", Started: true},
			{ID: 25, Name: f.zh("汇率拉取", "Fetch exchange rates"), Conf: "0 0 9 5,20W * ?", Finding: "weekday", Started: true},
			{ID: 31, Name: f.zh("月末结账", "Closing of the month"), Conf: "0 0 23 L * ?", Finding: "months", Started: true},
			{ID: 32, Name: f.zh("工资提醒", "Payday reminder"), Conf: "0 0/30 9-17 15W * ?", Finding: "day", Started: true},
			{ID: 40, Name: f.zh("清理临时文件", "Clear temporary files"), Conf: "60", Finding: "delay"},
			{ID: 41, Name: f.zh("旧任务", "Old job"), Conf: "daily at nine", Finding: "unread"},
		},
	}
}

// adoptionBeside is the same while XXL-JOB goes on working.
func (f fakes) adoptionBeside() adoption.Page {
	p := f.adoption()
	p.Beside, p.Refused = true, f.zh("有 1 个任务 XXL-JOB 无法按 Punctual 的方式运行，请先修改或停止：#61 月结 (ONCE)。", "XXL-JOB cannot run this job as Punctual does. Change or stop it first: #61 closing (ONCE).")
	p.Groups = []adoption.Group{
		{ID: 1, AppName: "orders", Title: f.zh("订单", "Orders"), Ours: true, Since: f.at(-3 * time.Hour), By: "admin", Jobs: 1204, Open: 12, Strays: 2},
		{ID: 2, AppName: "billing", Title: f.zh("账务", "Billing"), Jobs: 37},
		{ID: 3, AppName: "punctual-http", Title: "HTTP", Ours: true, Since: f.at(-2 * time.Hour), By: "admin", Jobs: 4, Stays: true},
	}
	return p
}

// adoptionFinished is the same when there is nothing left to do.
func (f fakes) adoptionFinished() adoption.Page {
	return adoption.Page{Page: f.page("/adoption"), Release: "3.4.0–3.4.2", At: f.at(-600 * time.Hour), Finished: f.at(-30 * time.Hour), By: "admin"}
}
