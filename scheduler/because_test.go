package scheduler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/route"
	"github.com/punctual-job/punctual/scheduler/secret"
)

// Why something was not sent is told in the reader's language, and in that of the error to programs.
func TestWhyItWasNotSentIsTold(t *testing.T) {
	t.Parallel()
	_, unknown := route.NewTable().Pick("NEAREST", 1, []string{"a"})
	for _, tt := range []struct {
		key         event.Key
		err         error
		zh, english string
	}{
		{event.NoRoute, unknown, "未发送，路由策略有误：“NEAREST”无法选出地址", `not sent: route strategy "NEAREST" cannot choose an address`},
		{event.NoSource, fmt.Errorf("read script: %w", db.ErrNotFound), "未发送：无法读取任务脚本：已不存在", "not sent: the job's script cannot be read: read script: " + db.ErrNotFound.Error()},
		{event.NoSource, errors.New("invalid connection"), "未发送：无法读取任务脚本：数据库未响应", "not sent: the job's script cannot be read: invalid connection"},
		{event.SecretsShut, secret.ErrNoKey, "未发送：无法读取所需密钥：该节点没有主密钥（PUNCTUAL_SECRET_KEY_FILE）", "not sent: its secrets cannot be read: " + secret.ErrNoKey.Error()},
		{event.SecretsShut, &secret.OpenError{Name: "TOKEN", Err: errors.New("cipher: message authentication failed")}, "未发送：无法读取所需密钥：密钥“TOKEN”是用另一个主密钥加密的", "not sent: its secrets cannot be read: open secret TOKEN: cipher: message authentication failed"},
	} {
		e := event.New(time.Now(), tt.key, because(tt.err))
		stored := event.Parse(event.List{e}.Encode())
		if got := (event.Teller{Printer: locales.New().Printer("zh-CN")}).Tell(stored[0]); got != tt.zh {
			t.Errorf("%s: %q, want %q", tt.key, got, tt.zh)
		}
		if got := stored[0].String(); got != tt.english {
			t.Errorf("%s in English: %q, want %q", tt.key, got, tt.english)
		}
	}
	if got := event.New(time.Now(), event.SecretsShut, "as older versions wrote it").String(); got != "not sent: its secrets cannot be read: as older versions wrote it" {
		t.Error(got)
	}
}
