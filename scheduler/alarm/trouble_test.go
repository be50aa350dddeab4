package alarm

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
)

func TestTroublesAreToldInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	zh, en := texts.Printer(locales.Chinese), texts.Printer(locales.English)
	tests := []struct {
		trouble    Trouble
		zh, en, of string
	}{
		{troubleOf(nil, reason(hookAnswered, 403, `{"error":"unknown robot"}`)), `Webhook 返回 HTTP 状态 403：{"error":"unknown robot"}`, `the webhook answered with HTTP status 403: {"error":"unknown robot"}`, "a provider's words"},
		{troubleOf(nil, reason(hookAnswered, 502, "EOF")), "Webhook 返回 HTTP 状态 502：EOF", "the webhook answered with HTTP status 502: EOF", "a provider's words that are those of a library"},
		{troubleOf(nil, reason(hookRefused, -1, "system busy")), "Webhook 拒绝了消息，错误码 -1：system busy", "the webhook refused the message with code -1: system busy", "a provider's code"},
		{troubleOf(nil, about("a@x.com", reason(mailRecipient, 550, "no such user")), about("b@x.com", reason(mailSend, wire.FaultBroken, "EOF"))),
			"a@x.com：邮件服务器拒绝了收件人：550 no such user\nb@x.com：邮件发送失败，连接中断：EOF", "a@x.com: the mail server refuses the recipient: 550 no such user\nb@x.com: the mail was not sent, the connection broke off: EOF", "two recipients"},
		{troubleOf(nil, about("a@x.com", reason(channelOff))), "a@x.com：通道已停用", "a@x.com: the channel is switched off", "a recipient and nothing else"},
		{troubleOf([]string{"t0ken"}, reason(hookOdd, "<t0ken>")), "无法识别 Webhook 返回的内容：<***>", "the webhook’s answer is not understood: <***>", "a secret"},
		{"the webhook answered 403", "the webhook answered 403", "the webhook answered 403", "what an older version wrote"},
		{"", "", "", "nothing"},
		{`["of-tomorrow",0,"a","b"]` + "\n", "of-tomorrow a b", "of-tomorrow a b", "what a newer version wrote"},
	}
	for _, tt := range tests {
		if got := tt.trouble.In(zh); got != tt.zh {
			t.Errorf("%s: in Chinese %q, want %q", tt.of, got, tt.zh)
		}
		if got := tt.trouble.In(en); got != tt.en {
			t.Errorf("%s: in English %q, want %q", tt.of, got, tt.en)
		}
	}
}

func TestTroublesFitTheirColumn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\n<汉\"", 500)
	for name, reasons := range map[string][]event.Event{
		"a long one": {reason(hookAnswered, 500, long)},
		"many":       {about(long, reason(mailSend, "late", long)), about("b", reason(mailSend, "late", long)), about("c", reason(mailSend, "late", long)), reason(channelOff), reason(mailSend, "late", long), reason(mailSend, "late", long)},
	} {
		got := troubleOf(nil, reasons...)
		list := event.Parse(string(got))
		if len(got) > maxTrouble || len(list) == 0 || list[0].Key != reasons[0].Key || !utf8.ValidString(string(got)) {
			t.Errorf("%s: %d bytes, %d troubles: %s", name, len(got), len(list), got)
		}
	}
}

func TestFaultsOfConnections(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	tests := []struct {
		ctx  context.Context
		err  error
		want wire.Fault
	}{
		{t.Context(), dial(&os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}), wire.FaultRefused},
		{t.Context(), dial(os.ErrDeadlineExceeded), wire.FaultConnect},
		{t.Context(), &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, wire.FaultLate},
		{t.Context(), &net.DNSError{Name: "hook.invalid", IsNotFound: true}, wire.FaultHost},
		{t.Context(), io.ErrUnexpectedEOF, wire.FaultBroken},
		{t.Context(), x509.UnknownAuthorityError{}, faultAuthority},
		{t.Context(), x509.HostnameError{Certificate: new(x509.Certificate), Host: "x"}, faultName},
		{t.Context(), x509.CertificateInvalidError{Reason: x509.Expired}, faultExpired},
		{t.Context(), x509.CertificateInvalidError{Reason: x509.TooManyIntermediates}, wire.FaultCertificate},
		{t.Context(), fmt.Errorf("dial: connection refused"), wire.FaultOther}, // words are no type
		{over, errors.New("use of closed connection"), wire.FaultStopped},
	}
	for _, tt := range tests {
		if got := faultOf(tt.ctx, tt.err); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got, tt.want)
		}
	}
}
