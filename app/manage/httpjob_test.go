package manage

import (
	"testing"

	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What is no JSON of a call is told by its line, in the reader's language.
func TestACallThatCannotBeReadIsToldByItsLine(t *testing.T) {
	t.Parallel()
	for param, want := range map[string]string{
		"{\"url\": \"http://a/\"\n \"method\": \"GET\"}":      "无法按 JSON 解析此 HTTP 调用。第 2 行：“\"”之前缺少逗号，或列表、对象没有结束",
		"{\"url\": \"http://a/\",\n\n \"timeout\": \"soon\"}": "无法按 JSON 解析此 HTTP 调用。第 3 行：“timeout”应为整数。",
		"{\"url\": \"http://a/\"":                             "无法按 JSON 解析此 HTTP 调用。第 1 行：内容提前结束，可能被截断",
	} {
		faults := checkHTTPJob(jobspec.Job{Glue: wire.GlueBean, Handler: httpcall.Handler, Param: param}, true)
		if len(faults) != 1 || faults[0].Name != jobspec.FieldParam {
			t.Fatalf("%s: %+v", param, faults)
		}
		if got := faults[0].Text(locales.New().Printer("zh-CN")); got != want {
			t.Errorf("%s: %q, want %q", param, got, want)
		}
	}
}
