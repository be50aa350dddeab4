package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/settings"
)

// settings is the page of a node whose environment decides one thing; with a fault it comes back from a form.
func (f fakes) settings(fault bool) settings.Page {
	p := settings.Page{Page: f.page("/settings"), Version: "1"}
	item := func(name, kind, value, standard string) settings.Item {
		return settings.Item{Name: name, Kind: kind, Value: value, Default: standard}
	}
	number := func(name, value, standard, unit string) settings.Item {
		i := item(name, "number", value, standard)
		i.Unit = unit
		return i
	}
	language := item("default_language", "choice", "zh-CN", "en")
	language.Choices, language.Stored, language.Changed = []string{"zh-CN", "zh-TW", "en"}, true, f.at(-50*time.Hour)
	address := item("public_url", "text", "https://jobs.example.com", "")
	address.Env = "PUNCTUAL_PUBLIC_URL"
	retention := number("log_retention_days", "90", "30", "days")
	retention.Stored, retention.Changed = true, f.at(-3*time.Hour)
	if fault {
		p.Problem, retention.Value, retention.Error = f.T("form.errors", "Count", 1), "2", f.T("settings.error.zero", "Min", 3, "Max", 36500)
	}
	misfire := number("misfire_seconds", "5", "5", "seconds")
	misfire.Broken, misfire.Stored = fault, fault
	p.Sections = []settings.Section{
		{Name: "console", Items: []settings.Item{language, address, item("glue", "switch", "on", "on"), number("audit_days", "730", "730", "days")}},
		{Name: "runs", Items: []settings.Item{retention, misfire, number("lost_seconds", "15", "15", "seconds"), number("forgotten_seconds", "40", "40", "seconds")}},
		{Name: "executors", Items: []settings.Item{number("call_timeout_ms", "3000", "3000", "ms"), item("executor_allow", "text", "", "")}},
	}
	p.About = []settings.Fact{
		{Name: f.T("settings.about.version"), Value: "0.1.0", Note: "go1.26 linux/amd64"},
		{Name: f.T("settings.about.database"), Value: "MariaDB 11.4.2", Note: "xxl_job at db:3306"},
		{Name: f.T("settings.about.zone"), Value: "Asia/Shanghai", Note: f.T("settings.about.zone.note")},
		{Name: f.T("settings.about.address"), Value: ":8080", Note: f.T("settings.about.tls.off")},
		{Name: f.T("settings.about.token"), Value: f.T("settings.token.kept"), URL: "/executors/token"},
		{Name: f.T("settings.about.nodes"), Value: f.T("settings.about.nodes.live", "Count", 3, "N", 3), URL: "/nodes"},
	}
	p.Options = []settings.Option{
		{Name: "PUNCTUAL_DATABASE_URL", Set: true, Secret: true}, {Name: "PUNCTUAL_DATA_DIR", Value: "data"}, {Name: "PUNCTUAL_LISTEN", Value: "0.0.0.0:8080", Set: true},
		{Name: "PUNCTUAL_ACCESS_TOKEN", Secret: true}, {Name: "PUNCTUAL_TLS_CERT"},
	}
	return p
}
