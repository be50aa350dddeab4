package note

import (
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
)

func TestEveryTroubleIsSaidInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	everySentence(t, slices.Concat(Troubles, networkTroubles), Trouble)
}

func TestTroubleKeepsTheWordsOfTheOtherSide(t *testing.T) {
	t.Parallel()
	p := locales.New().Printer(locales.Chinese)
	for text, want := range map[string]string{
		`the webhook answered 403: {"error":"unknown robot"}`:                                                   `Webhook 返回 HTTP 状态 403：{"error":"unknown robot"}`,
		"the webhook refused: 310000 keywords not in content, more: [https://x.com/]":                           "Webhook 拒绝了消息，错误码 310000：keywords not in content, more: [https://x.com/]",
		"the webhook refused: -1 system busy":                                                                   "Webhook 拒绝了消息，错误码 -1：system busy",
		"the webhook answered 502: EOF":                                                                         "Webhook 返回 HTTP 状态 502：EOF",
		"call the webhook: EOF":                                                                                 "无法访问 Webhook：连接在应答前中断",
		"call the webhook: dial tcp 10.0.0.9:443: connect: connection refused":                                  "无法访问 Webhook：10.0.0.9:443 拒绝连接",
		"call the webhook: dial tcp: lookup hook.invalid on 10.0.0.53:53: no such host":                         "无法访问 Webhook：DNS 服务器 10.0.0.53:53 无法解析主机名 hook.invalid",
		"call the webhook: dial tcp 10.0.0.9:443: " + HookPrivate.Format:                                        "无法访问 Webhook：无法连接 10.0.0.9:443：该地址是内网地址，当前不允许 Webhook 访问内网",
		"connect to the mail server: 535 5.7.8 authentication failed":                                           "无法连接邮件服务器：535 5.7.8 authentication failed",
		"connect to the mail server: context deadline exceeded: read tcp a->b: i/o timeout":                     "无法连接邮件服务器：未在限定时间内应答（a->b 没有应答）",
		"a@example.com: the mail server refuses the recipient: 550 no such user\nb@example.com: send mail: EOF": "a@example.com：邮件服务器拒绝了收件人：550 no such user\nb@example.com：邮件发送失败：连接在应答前中断",
		"a@example.com: something new":                                                                          "a@example.com：something new",
		"not: a reason that anybody words":                                                                      "not: a reason that anybody words",
		"":                                                                                                      "",
	} {
		if got := Trouble(p, text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := Trouble(p, "connect to the mail server: 421 a\n421 b"); !strings.HasSuffix(got, "：421 a\n421 b") {
		t.Errorf("an answer of two lines is shown as %q", got)
	}
	if got := Said(p, "EOF"); got != "EOF" {
		t.Errorf("a run's message that is no trouble of a channel is shown as %q", got)
	}
}
