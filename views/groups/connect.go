package groups

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Connect is what a program needs to know to become an executor of a group.
type Connect struct {
	AdminURL string // without a slash at its end
	AppName  string
	Token    string // a placeholder when it is not shown
	Secret   bool   // Token is a placeholder
}

// way is one kind of program, with its configuration ready to paste.
type way struct {
	name string // of the messages connect.<name> and connect.<name>.help
	code string
}

// ways are the kinds of programs in the order of the tabs. The texts are code: their only words are the protocol's.
func (c Connect) ways() []way {
	return []way{
		{"java", c.java()}, {"go", c.golang()}, {"community", c.community()}, {"python", c.python()}, {"program", c.program()}, {"pull", c.pull()}, {"http", c.http()},
	}
}

// java has the token under the names of every generation: a program reads the one it knows.
func (c Connect) java() string {
	return fmt.Sprintf(`xxl.job.admin.addresses=%[1]s/xxl-job-admin
# 2.2 – 2.4
xxl.job.accessToken=%[2]s
# 2.5 – 3.4
xxl.job.admin.accessToken=%[2]s
# 3.5
xxl.job.executor.accessToken=%[2]s
xxl.job.executor.appname=%[3]s
xxl.job.executor.address=
xxl.job.executor.ip=
xxl.job.executor.port=9999
xxl.job.executor.logpath=./logs/jobhandler
xxl.job.executor.logretentiondays=30
`, property(c.AdminURL), property(c.Token), property(c.AppName))
}

// property escapes the value of a line of a .properties file.
func property(s string) string { return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s) }

func (c Connect) golang() string {
	return fmt.Sprintf(`package main

import (
	"context"
	"log"

	"github.com/punctual-job/punctual/executor"
)

func main() {
	ex, err := executor.New(executor.Config{
		AppName: %s,
		Admins:  []string{%s},
		Token:   %s,
	})
	if err != nil {
		log.Fatal(err)
	}
	ex.Handle("demoJobHandler", func(ctx context.Context, run *executor.Run) error {
		run.Logf("param %%q", run.Param)
		return nil
	})
	log.Fatal(ex.Run(context.Background()))
}
`, strconv.Quote(c.AppName), strconv.Quote(c.AdminURL), strconv.Quote(c.Token))
}

func (c Connect) community() string {
	return fmt.Sprintf(`package main

import (
	"context"
	"log"

	xxl "github.com/xxl-job/xxl-job-executor-go"
)

func main() {
	ex := xxl.NewExecutor(
		xxl.ServerAddr(%s),
		xxl.AccessToken(%s),
		xxl.RegistryKey(%s),
		xxl.ExecutorPort("9999"),
	)
	ex.Init()
	ex.RegTask("demoJobHandler", func(ctx context.Context, req *xxl.RunReq) string {
		return req.ExecutorParams
	})
	log.Fatal(ex.Run())
}
`, strconv.Quote(c.AdminURL+"/xxl-job-admin"), strconv.Quote(c.Token), strconv.Quote(c.AppName))
}

func (c Connect) python() string {
	return fmt.Sprintf(`# pip install pyxxl
from pyxxl import ExecutorConfig, PyxxlRunner

app = PyxxlRunner(ExecutorConfig(
    xxl_admin_baseurl=%s,
    executor_app_name=%s,
    access_token=%s,
))

@app.register(name="demoJobHandler")
async def demo():
    return "ok"

app.run_executor()
`, quoteJSON(c.AdminURL+"/xxl-job-admin/api/"), quoteJSON(c.AppName), quoteJSON(c.Token))
}

func (c Connect) program() string {
	return fmt.Sprintf(`PUNCTUAL_EXECUTOR_ADMIN=%s \
PUNCTUAL_EXECUTOR_APP_NAME=%s \
PUNCTUAL_EXECUTOR_ACCESS_TOKEN=%s \
punctual-executor
`, quoteShell(c.AdminURL), quoteShell(c.AppName), quoteShell(c.Token))
}

func (c Connect) pull() string { return "PUNCTUAL_EXECUTOR_PULL=true \\\n" + c.program() }

func (c Connect) http() string {
	beat := fmt.Sprintf(`{"registryGroup":"EXECUTOR","registryKey":%s,"registryValue":"http://10.0.0.1:9999/"}`, quoteJSON(c.AppName))
	call := func(path, body string) string {
		return fmt.Sprintf("curl -X POST %s \\\n  -H 'Content-Type: application/json' \\\n  -H %s \\\n  -d %s\n",
			quoteShell(c.AdminURL+path), quoteShell("XXL-JOB-ACCESS-TOKEN: "+c.Token), quoteShell(body))
	}
	return call("/api/registry", beat) + "\n" + call("/api/callback", `[{"logId":1,"logDateTim":0,"handleCode":200,"handleMsg":""}]`)
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
